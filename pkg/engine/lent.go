package engine

import "sync/atomic"

// lent is memory for the logits of passes, which members read where a pass wrote them. A batch has
// two: while members still read the first, passes write to the second and copy, so that slow members
// do not take a memory each.
type lent struct {
	memory  []float32 // while no pass has it
	readers atomic.Int32
}

// lend makes m a reader of logits in l.
func (l *lent) lend(m *member, logits []float32) {
	l.readers.Add(1)
	m.lent, m.logits = l, logits
}

// giveBack ends m's reading of what was lent to it.
func (m *member) giveBack() {
	if m.lent != nil {
		m.lent.readers.Add(-1)
		m.lent = nil
	}
}

// spareLogits makes the next pass write its logits to memory that nobody reads; b.mu is held.
func (b *batch) spareLogits() {
	if b.lent[0].readers.Load() > 0 {
		b.lent[0], b.lent[1] = b.lent[1], b.lent[0]
		b.lent[1].memory = b.pass.SwapLogits(b.lent[0].memory)
		b.lent[0].memory = nil
	}
	b.lends = b.lent[1].readers.Load() == 0
}

// distribute gives each member its logits, copied if the member needs several passes or if the
// pass does not lend them.
func (b *batch) distribute(logits []float32) {
	for _, m := range b.last {
		n := 0
		for i := range m.seqs[m.from:m.to] {
			n += m.seqs[m.from+i].Logits * b.model.Vocab
		}
		if b.lends && m.from == 0 && m.to == len(m.seqs) {
			b.lent[0].lend(m, logits[:n])
		} else {
			if m.from == 0 {
				m.own = m.own[:0]
			}
			m.own = append(m.own, logits[:n]...)
			m.logits = m.own
		}
		logits = logits[n:]
	}
}
