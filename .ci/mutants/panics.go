package main

// panics: one ends a request, not the process.
func panics() []mutant {
	const team, portions = "^TestTeamPanics$", "^Test(ChainPanics|PortionsPanic)$"
	return []mutant{
		{"panics: others wait at a barrier for a worker that has panicked", transformer, "barrier.wait", "b.team.awaitOthers", "b.team.await", transformer, team},
		{"panics: portions wait for one that has panicked", transformer, "Pass.follow", "c.team.awaitOthers", "c.team.await", transformer, portions},
		{"panics: workers that sleep do not learn of one", transformer, "Team.part", "t.rouse()", "", transformer, team},
		{"panics: the caller of a pass does not learn of one", transformer, "Team.do", "p.fault.raise()", "", transformer, "^Test(TeamPanics|LayerPanics|PortionsPanic)$"},
		{"panics: the next pass ends as the last one", transformer, "program.begin", "p.fault.cause.Store(nil)", "", transformer, team},
		{"panics: those who have arrived at a barrier are still there in the next pass", transformer, "barrier.begin", "b.arrived.Store(0)", "", transformer, team},
		{"panics: one in another goroutine ends the process", transformer, "Concurrently", "recover()", "any(nil)", transformer, "^TestConcurrently$"},
		{"panics: nobody learns of one in another goroutine", transformer, "Concurrently", "f.raise()", "", transformer, "^TestConcurrently$"},
		{"panics: one of a reader ends the process", checkpoint, "orPanic", "recover()", "any(nil)", checkpoint, "^Test(Load|Fetch)Panics$"},
		{"panics: one of a block's data ends the process", sealed, "Archive.put", "recover()", "any(nil)", sealed, "^TestDataPanic$"},
		{"panics: texts of a request that has panicked stay shared", engine, "generation.prefill", "opened := false", "opened := true", engine, "^TestPrefillPanics$"},
	}
}
