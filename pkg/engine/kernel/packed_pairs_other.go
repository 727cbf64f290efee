//go:build !amd64 || purego

package kernel

// pairsFrom returns 0: no products widen weights.
func pairsFrom(isa) int { return 0 }

func quantizeSquare([]float32, int, []float32, int) {}

func tileSquares(*squareSpan) {}

func widenPanel(Kind, []float32, []byte, int) {}

func widenActivations(int, []float32, []float32, int, int) {}

func tilePairs(*partSpan) {}

// partsFrom returns 0: no products expand weights.
func partsFrom(isa, Kind) int { return 0 }

func expandPart(isa, Kind, []float32, []byte, int, int) {}

func tileExpanded(isa, *partSpan) {}
