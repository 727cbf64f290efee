package batch

import (
	"context"
	"errors"
	"math/rand/v2"
	"path"
	"slices"
)

// A Job is a batch that has not ended.
type Job struct{ Owner, ID string }

// rememberedOwners is the number of batches whose owners are remembered.
const rememberedOwners = 10_000

// Open returns the batches of all owners that have not ended, in an order by chance that is fair
// to owners: an owner's second batch comes after the first ones of all.
func (b *Batches) Open(ctx context.Context) ([]Job, error) {
	keys, err := b.cfg.Store.List(ctx, "open/")
	if err != nil {
		return nil, err
	}
	var jobs []Job
	for _, key := range keys {
		job := Job{ID: path.Base(key)}
		switch job.Owner, err = b.ownerOf(ctx, key, job.ID); {
		case err == nil:
			jobs = append(jobs, job)
		case !errors.Is(err, ErrNotFound): // it has ended meanwhile
			return nil, err
		}
	}
	return fairly(jobs), nil
}

func (b *Batches) ownerOf(ctx context.Context, key, id string) (owner string, err error) {
	b.mu.Lock()
	owner, ok := b.owners[id]
	b.mu.Unlock()
	if ok {
		return owner, nil
	}
	if err := b.readJSON(ctx, key, &owner); err != nil {
		return "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.owners) == rememberedOwners {
		clear(b.owners)
	}
	b.owners[id] = owner
	return owner, nil
}

// fairly orders jobs by chance, and so that no owner has its n-th before another's earlier ones.
func fairly(jobs []Job) []Job {
	rand.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
	count, place := map[string]int{}, map[string]int{}
	for _, job := range jobs {
		place[job.ID] = count[job.Owner]
		count[job.Owner]++
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return place[a.ID] - place[b.ID] })
	return jobs
}

// Ready returns how many processes could work on the jobs at once. It plans those that have no
// plan yet.
func (b *Batches) Ready(ctx context.Context, jobs []Job) (ready int, err error) {
	for _, job := range jobs {
		w, err := b.load(ctx, job.Owner, job.ID)
		if err == nil && w.plan == nil && w.end == nil {
			if _, err = b.Step(ctx, job.Owner, job.ID); err == nil {
				w, err = b.load(ctx, job.Owner, job.ID)
			}
		}
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return 0, err
		}
		parts := 0
		for i := range w.parts {
			if lines := len(w.plan.Parts[i]); w.seal == nil {
				if done, failed := w.parts[i].counts(lines); done+failed < lines {
					parts++
				}
			}
		}
		ready += max(1, parts) // at least its end is left
	}
	return ready, nil
}
