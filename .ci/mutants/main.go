// Command mutants shows that the tests can fail. It breaks the code in one place after
// another and demands that the named tests fail. Each mutant is a mistake that gives
// fluent nonsense, or a wrong bill, and no error. The working tree is not touched: the
// compiler reads the broken file in place of the real one.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A mutant is one mistake: in Function, the code Old becomes New. Function has Old once,
// so the mutant keeps its place when the function moves to another file of its package
// and when its other lines change. Code is written on one line, with semicolons.
type mutant struct {
	Name     string
	Package  string // directory
	Function string // f or Type.f; a variable or constant of the package
	Old, New string
	Tests    string // directory of the package whose tests must fail
	Run      string // pattern of their names
}

// workers run at once; limit is for one of them. mostInCI mutants take a quarter of an hour: after a large
// change the next runs try others, as the order differs.
const (
	workers  = 2
	limit    = 5 * time.Minute
	mostInCI = 200
)

// main tries the mutants that have changed since they were noticed, or whose file or tests have, and one
// in [lots] of those whose packages have.
// With arguments, it tries those whose name has one of them in it, and with -all all. It lists
// what was noticed for the next time, but not in a CI run, whose checkout stays as it is, and which
// tries at most [mostInCI].
func main() {
	failures, tried, left, err := check(os.Args[1:])
	for _, f := range failures {
		fmt.Println(f)
	}
	fmt.Printf("%d mutants, %d not noticed, %d left for other runs\n", tried, len(failures), left)
	if err != nil {
		fmt.Println(err)
	}
	if err != nil || len(failures) > 0 {
		os.Exit(1)
	}
}

// A due mutant is to be tried, and has been noticed on other code or never.
type due struct {
	mutant
	now  record
	seen bool
}

// check tries mutants and returns what is wrong with those that survive, how many it tried and how many
// are left.
func check(parts []string) (failures []string, tried, left int, err error) {
	noticed, err := readNoticed()
	if err != nil {
		return nil, 0, 0, err
	}
	var list []due
	files, ci := sums{}, os.Getenv("CI") != ""
	for _, m := range mutants() {
		now, err := m.record(files)
		if err != nil {
			return nil, 0, 0, err
		}
		before, seen := noticed[m.Name]
		named := slices.ContainsFunc(parts, func(part string) bool { return part == "-all" || strings.Contains(m.Name, part) })
		if named || len(parts) == 0 && before.isDue(now) {
			list = append(list, due{m, now, seen})
		}
	}
	slices.SortFunc(list, due.compare)
	all := len(list)
	if ci && len(parts) == 0 {
		list = list[:min(all, mostInCI)]
	}
	err = run(list, func(d *due, fault error) error {
		if noticed[d.Name] = d.now; fault != nil {
			delete(noticed, d.Name)
			failures = append(failures, fmt.Sprintf("%s (%s, %s): %v", d.Name, d.Package, d.Function, fault))
		}
		if ci {
			return nil
		}
		return writeNoticed(noticed) // now: a run may be ended
	})
	return failures, len(list), all - len(list), err
}

// compare sorts those first that were never noticed, and others in an order that differs between trees.
func (d due) compare(other due) int {
	if d.seen != other.seen {
		if d.seen {
			return 1
		}
		return -1
	}
	return strings.Compare(d.now.wide, other.now.wide)
}

// run tries all mutants and tells what is wrong with each that survives, nil if it is noticed.
func run(list []due, tell func(d *due, fault error) error) (err error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		next  = make(chan int)
	)
	for range workers {
		group.Go(func() {
			for i := range next {
				fault := list[i].try(filepath.Join(dir, fmt.Sprint(i)))
				mu.Lock()
				err = errors.Join(err, tell(&list[i], fault))
				mu.Unlock()
			}
		})
	}
	for i := range list {
		next <- i
	}
	close(next)
	group.Wait()
	return err
}

// try runs the tests of m on the broken code.
func (m *mutant) try(dir string) error {
	overlay, err := m.overlay(dir)
	if err != nil {
		return err
	}
	// One failure is enough, and vet need not pass. The tests end themselves: killing go test
	// would leave them running.
	out, err := exec.Command("go", "test", "-vet=off", "-failfast", "-timeout", limit.String(), "-overlay", overlay, "-run", m.Run, "./"+m.Tests).CombinedOutput()
	switch text := string(out); {
	case strings.Contains(text, "panic: test timed out"):
		return fmt.Errorf("the tests did not end in %v", limit)
	case err == nil && strings.Contains(text, "no tests to run"):
		return fmt.Errorf("no test of %s matches %q", m.Tests, m.Run)
	case err == nil:
		return fmt.Errorf("no test of %s %q noticed", m.Tests, m.Run)
	case !strings.Contains(text, "--- FAIL") && !panicked(text):
		return fmt.Errorf("the tests did not run:\n%s", text)
	}
	return nil
}

// panicked reports whether a test began and panicked; one in a bubble of synctest says no
// "--- FAIL".
func panicked(out string) bool {
	return strings.HasPrefix(out, "panic: ") || strings.Contains(out, "\npanic: ")
}

// overlay writes the broken file and the list that the go command takes.
func (m *mutant) overlay(dir string) (name string, err error) {
	p, err := m.find()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	broken := filepath.Join(dir, filepath.Base(p.file))
	if err := os.WriteFile(broken, p.with(m.New), 0o644); err != nil {
		return "", err
	}
	real, err := filepath.Abs(p.file)
	if err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {real: broken}})
	if err != nil {
		return "", err
	}
	name = filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, list, 0o644)
}
