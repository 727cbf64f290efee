package kernel

import "math"

// geluBackwardGeneric: dy *= gelu'(x), gelu' = s(1 + x(1-s)·2u'), s = sigmoid(2u).
func geluBackwardGeneric(dy, x []float32) {
	for i, v := range x {
		t := float32(geluCubic*v)*float32(v*v) + v
		s := 1 / (1 + exp(-geluScale*t))
		slope := float32(float32(geluScale*3*geluCubic)*float32(v*v)) + geluScale
		dy[i] *= s * (1 + float32(float32(v*(1-s))*slope))
	}
}

// softmaxBackwardGeneric: dp = p*(dp-inner)*scale.
func softmaxBackwardGeneric(dp, p []float32, inner, scale float32) {
	for i, v := range p {
		dp[i] = (dp[i] - inner) * (v * scale)
	}
}

// normSumsGeneric: dbias += dy, dweight += dy*h; a = Σ dy*weight, b = Σ dy*weight*h.
func normSumsGeneric(dweight, dbias, dy, x, weight []float32, mean, scale float32) (a, b float32) {
	var sum, product float64
	for i, d := range dy {
		h := (x[i] - mean) * scale
		dweight[i] += float32(d * h)
		dbias[i] += d
		dw := d * weight[i]
		sum += float64(dw)
		product += float64(float32(dw * h))
	}
	return float32(sum), float32(product)
}

// normBackwardGeneric: dx += scale*(dy*weight - a - h*b).
func normBackwardGeneric(dx, dy, x, weight []float32, mean, scale, a, b float32) {
	for i, d := range dy {
		h := (x[i] - mean) * scale
		dx[i] += float32(scale * (float32(d*weight[i]) - a - float32(h*b)))
	}
}

func adamGeneric(p, m, v, g []float32, a *AdamW) {
	step, root, decay := a.step(), a.root(), a.decay()
	for i := range p {
		d := g[i] * a.GradScale
		m[i] = d + float32(a.Beta1*(m[i]-d))
		dd := d * d
		v[i] = dd + float32(a.Beta2*(v[i]-dd))
		s := float32(math.Sqrt(float64(v[i])))
		p[i] = p[i] - float32(decay*p[i]) - float32(step*(m[i]/(float32(s*root)+a.Eps)))
	}
}
