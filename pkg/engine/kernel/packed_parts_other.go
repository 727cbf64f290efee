//go:build !amd64 || purego

package kernel

func hasVNNI() bool { return false }

func quantizeSquare([]float32, int, []float32, int) {}

func tileSquares(*squareSpan) {}

// busyRows returns 0: no product has two ways to fetch its weights.
func busyRows(isa, Kind) int { return 0 }

// partsFrom returns 0: no products expand weights.
func partsFrom(*Kernels, Kind) int { return 0 }

func expandPart(isa, Kind, []float32, []byte, int, int) {}

func tileExpanded(*Kernels, *partSpan) {}
