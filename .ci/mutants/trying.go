package main

// trying are mistakes in choosing and downloading models.
func trying() []mutant {
	return []mutant{
		{"fit: a quantisation larger than the memory is chosen", fit, "Choose", "room > 0 && c.Size > room", "false", fit, "^TestChoose$"},
		{"fit: a format larger than the memory is chosen", fit, "Format", "size > 0 && size <= room", "size > 0", fit, "^TestFormat$"},
		{"hub: two files of a repository get one name", hub, "Snapshot.rootNames", "taken[strings.ToLower(name)] > 1", "false", hub, "^TestChoose$"},
		{"hub: the lock of a deleted directory is a lock", hub, "holds", "os.SameFile(locked, named)", "locked != nil && named != nil", hub, "^TestLockIsReplaced$"},
		{"glossa: the listing ignores --memory", "functions/glossa", "readMemory", `size == ""`, `size != "-"`, "functions/glossa", "^TestModelsMemory$"},
		{"glossa: another owner's model is found by its NAME", "functions/glossa", "modelName", `name == base && origin.Repo == ""`, "name == base", "functions/glossa", "^TestTwoOwners$"},
		{"glossa: another file of the same name runs", "functions/glossa", "runOptions.find", "origin.Names[ref.File]", "path.Base(ref.File), true", "functions/glossa", "^TestRunSubdirectory$"},
		{"glossa: adapters are deleted with a model", "functions/glossa", "owned", "weights = shards.MatchString", `weights = func(string) bool { return true }`, "functions/glossa", "^TestModelsRm$"},
		{"hub: a split model without all its parts is offered", hub, "Snapshot.Variants", `split && fmt.Sprintf("%05d", len(v.Files)) != all`, "split && all == fmt.Sprint(v)", hub, "^TestVariants$"},
	}
}
