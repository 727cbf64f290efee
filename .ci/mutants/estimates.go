package main

// estimates: a plan that promises too much, or a simulation of another world.
func estimates() []mutant {
	const simulate, day = "^TestSimulate$", "^TestFunctionDay$"
	return []mutant{
		{"traffic: the longest idle instance answers", traffic, "simulation.arrive", "s.idle.last()", "s.idle.first()", traffic, simulate},
		{"traffic: idle instances stay", traffic, "simulation.advance", "s.alive--", "", traffic, simulate},
		{"traffic: a start is billed whole", traffic, "simulation.arrive", "s.fleet.Start - s.fleet.Unbilled", "s.fleet.Start", traffic, simulate},
		{"traffic: a job that ends makes no room for one that arrives", traffic, "simulation.advance", "s.busy[0].at <= now", "s.busy[0].at < now", traffic, simulate},
		{"traffic: the heap is a list", traffic, "heap.push", "i = parent", "return", traffic, "."},
		{"traffic: waiting is not in the latency", traffic, "simulation.run", "one.at-j.At, o.Billed+work", "work, o.Billed+work", traffic, "^(TestSimulate|TestErlang)$"},
		{"estimates: a memory holds weights only", estimate, "Model.Plan", "limits.Weights()", "total", estimate, "^TestPlan$"},
		{"estimates: more threads than measured are free", estimate, "curve.at", "last.seconds*last.threads/processors", "0", estimate, "^TestSpeed$"},
		{"estimates: slower threads are believed", estimate, "curve.flatten", "min(c[i].seconds, c[i-1].seconds)", "c[i].seconds", estimate, "^Test(Speed|MoreMemoryIsNeverSlower)$"},
		{"estimates: a larger model reads as fast", estimate, "NewSpeed", "float64(m.Work.Bytes)/float64(of.Bytes)", "1", estimate, "^TestScaled$"},
		{"estimates: prompts of a server cost nothing together", estimate, "Speed.Time", "float64(r.Prompt) * s.prefill.at(processors) * float64(rows)", "float64(r.Prompt) * s.prefill.at(processors)", estimate, "^TestS"},
		{"estimates: throttled requests are billed", estimate, "Estimator.FunctionDay", "!o.Throttled", "o.Throttled || true", estimate, day},
		{"estimates: a full server beats everything", estimate, "Server.breakEven", "rate > s.Capacity", "false", estimate, "^TestServers$"},
	}
}
