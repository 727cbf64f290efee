package jinja

// flow says how a list of statements ended.
type flow uint8

const (
	flowNext flow = iota
	flowBreak
	flowContinue
)

// A stmt is a statement.
type stmt interface{ exec(r *run) flow }

// An expr is an expression. Its methods set run.at before an operation can fail.
type expr interface{ eval(r *run) Value }

type (
	dataStmt  struct{ value string }
	printStmt struct {
		at     int
		values []expr
	}
	ifStmt struct {
		tests  []expr
		bodies [][]stmt
		other  []stmt
	}
	forStmt struct {
		at          int
		target      target
		iter, test  expr
		body, other []stmt
		recursive   bool
		usesLoop    bool
		loop        int // slot of the name "loop"
	}
	setStmt struct {
		target target
		value  expr
	}
	setBlock struct {
		target target
		filter []filterCall // applied to the block's text
		body   []stmt
	}
	filterBlock struct {
		at     int
		filter []filterCall
		body   []stmt
	}
	macroStmt struct {
		name int
		def  *macroDef
	}
	callStmt struct {
		at   int
		call *callExpr
		def  *macroDef
	}
	withStmt struct {
		targets []target
		values  []expr
		body    []stmt
	}
	generationStmt struct{ body []stmt }
	jumpStmt       struct{ to flow }
)

// macroDef is the definition of a macro or of the body of a call block.
type macroDef struct {
	name                    string
	params                  []int
	names                   []string
	defaults                []expr // nil: none
	body                    []stmt
	caller, kwargs, varargs int // slots
	usesCaller              bool
	usesKwargs, usesVarargs bool
	explicitCaller          bool
}

// A target is a name, a namespace's attribute, or a tuple of targets.
type target struct {
	at    int
	slot  int
	attr  string // of the namespace in slot
	parts []target
	tuple bool
}

type (
	constExpr struct{ value Value }
	nameExpr  struct {
		slot int
		why  *undefined
	}
	listExpr struct {
		items []expr
		tuple bool
	}
	dictExpr struct {
		at     int
		keys   []expr
		values []expr
	}
	attrExpr struct {
		at      int
		of      expr
		name    string
		methods methods
	}
	itemExpr struct {
		at     int
		of, by expr
	}
	sliceExpr struct {
		at                    int
		of, start, stop, step expr // of the bounds, nil: none
	}
	callExpr struct {
		at   int
		of   expr
		args argList
	}
	filterExpr struct {
		of   expr
		call filterCall
	}
	testExpr struct {
		at     int
		of     expr
		name   string
		test   testFunc
		args   argList
		negate bool
	}
	unaryExpr struct {
		at int
		op byte
		of expr
	}
	binaryExpr struct {
		at          int
		op          string
		left, right expr
	}
	concatExpr struct{ parts []expr }
	notExpr    struct{ of expr }
	logicExpr  struct {
		left, right expr
		or          bool
	}
	compareExpr struct {
		at    int
		first expr
		ops   []string
		rest  []expr
	}
	condExpr struct{ test, yes, no expr }
)

// filterCall is the application of a filter.
type filterCall struct {
	at   int
	name string
	fn   filterFunc // nil: unknown, an error when it is reached
	args argList
}

// argList is the arguments of a call.
type argList struct {
	pos      []expr
	names    []string
	named    []expr
	dynPos   expr // *args
	dynNamed expr // **kwargs
}
