package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"html"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "draw the chart of results/peers.jsonl anew")

const (
	resultsFile = "results/peers.jsonl" // output of .ci/peers/run --json
	chartFile   = "results/peers.svg"
)

// The README's chart is drawn from the results in the same directory.
func TestChart(t *testing.T) {
	raw, err := os.ReadFile(resultsFile)
	if err != nil {
		t.Fatal(err)
	}
	about, list, err := readComparisons(raw)
	if err != nil {
		t.Fatal(err)
	}
	made := draw(about, list)
	if *update {
		if err := os.WriteFile(chartFile, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if old, err := os.ReadFile(chartFile); err != nil || string(old) != made {
		t.Errorf("%s is not the chart of %s (go test ./pkg/bench -run TestChart -update mends it): %v", chartFile, resultsFile, err)
	}
}

// Every result is drawn once: as a bar of its multiple and as its share of the limit.
func TestDraw(t *testing.T) {
	const raw = `{"date": "2026-01-02", "cpu": "Z80 <A>", "features": ["ldir"], "processors": 1, "glossa": "abc, generic kernels", "llama_cpp": "v1", "prefill": 8, "decode": 4, "repeat": 3, "rounds": 2}
{"shape": "one", "quant": "q8_0", "threads": 1, "batch": 1, "phase": "decode", "tokens_per_second": 20, "llama_cpp": 10, "limit_fraction": 0.5}
{"shape": "two", "quant": "q4_0", "threads": 2, "batch": 1, "phase": "prefill", "tokens_per_second": 5, "llama_cpp": 10, "limit_fraction": null, "load": 7.5}
`
	about, list, err := readComparisons([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	svg := draw(about, list)
	for _, want := range []string{
		"Z80 &lt;A&gt;", "2026-01-02", "abc, generic kernels", "v1", ">one<", ">two<", ">2.00×<", ">0.50×<", ">50 %<", "prefill of 8 tokens", "at most 7.5.",
		fmt.Sprintf(`class="q8_0" x="%.1f"`, position(1, 1)), fmt.Sprintf(`class="q4_0" x="%.1f"`, position(0, 0.5)),
	} {
		if strings.Count(svg, want) != 1 {
			t.Errorf("%q is there %d times in\n%s", want, strings.Count(svg, want), svg)
		}
	}
	if n := strings.Count(svg, "<rect class=\"q"); n != 2+2 { // two bars and the key
		t.Errorf("%d bars", n)
	}
	for want, text := range map[string]string{
		"line 1": "", "line 2": strings.Replace(raw, `"llama_cpp": 10`, `"llama_cpp": 0`, 1), "line 3": raw[:len(raw)-3],
		"no results": strings.SplitAfter(raw, "\n")[0], "{decode 3}": strings.Replace(raw, `"batch": 1`, `"batch": 3`, 1), "line 4": raw + strings.SplitAfter(raw, "\n")[1],
	} {
		if _, _, err := readComparisons([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// environment is the first line of a file of comparisons.
type environment struct {
	Date, CPU, Glossa string
	Features          []string
	Processors        int
	Peer              string `json:"llama_cpp"`
	Prefill, Decode   int    // tokens
	Repeat, Rounds    int
}

// A comparison is one of the other lines.
type comparison struct {
	Result
	Peer float64 `json:"llama_cpp"` // tokens a second
	Load float64 // of the machine when it was measured, processes
}

func (c *comparison) row() row       { return row{c.Shape, c.Quant, c.Threads} }
func (c *comparison) panel() panel   { return panel{c.Phase, c.Batch} }
func (c *comparison) ratio() float64 { return c.TokensPerSecond / c.Peer }

// Rows of the chart vary vertically, panels horizontally.
type (
	row struct {
		shape, quant string
		threads      int
	}
	panel struct {
		phase string
		batch int
	}
)

func readComparisons(raw []byte) (about *environment, list []comparison, err error) {
	lines := bufio.NewScanner(bytes.NewReader(raw))
	fail := func(err error) error { return fmt.Errorf("line %d: %w", len(list)+2, err) }
	lines.Scan()
	if err := json.Unmarshal(lines.Bytes(), &about); err != nil {
		return nil, nil, fmt.Errorf("line 1: %w", err)
	}
	for lines.Scan() {
		var c comparison
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, nil, fail(err)
		}
		if ratio := c.ratio(); !(ratio >= lowest && ratio <= highest) {
			return nil, nil, fail(fmt.Errorf("%v is no multiple that the chart can show", ratio))
		}
		if !slices.Contains(columns(), c.panel()) {
			return nil, nil, fail(fmt.Errorf("the chart has no place for %v", c.panel()))
		}
		if slices.ContainsFunc(list, func(d comparison) bool { return d.row() == c.row() && d.panel() == c.panel() }) {
			return nil, nil, fail(fmt.Errorf("%v, %v is there twice", c.row(), c.panel()))
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, nil, errors.New("no results")
	}
	return about, list, lines.Err()
}

// Measures of the chart, pixels, and the multiples at the ends of its axes.
const (
	margin, labels, panelWidth  = 24, 200, 256 // labels: width of the names of rows
	barsWidth, top, step, group = 156, 92, 17, 12
	width                       = margin + labels + 3*panelWidth
	lowest, highest             = 0.25, 32.0
)

// columns returns the panels of the chart, from left to right.
func columns() []panel { return []panel{{Prefill, 1}, {Decode, 1}, {Decode, 8}} }

func (p panel) title(about *environment) string {
	switch {
	case p.phase == Prefill:
		return fmt.Sprintf("prefill of %d tokens", about.Prefill)
	case p.batch == 1:
		return "decode, one row"
	}
	return fmt.Sprintf("decode, %d rows together", p.batch)
}

// position returns the x coordinate of a multiple in a column: the axis is logarithmic.
func position(column int, ratio float64) float64 {
	share := math.Log2(ratio/lowest) / math.Log2(highest/lowest)
	return margin + labels + float64(column*panelWidth) + share*barsWidth
}

const style = `<style>
text { font: 12px system-ui, sans-serif; fill: #1f2328 } .title { font-size: 15px; font-weight: 600 } .soft { fill: #59636e } .end { text-anchor: end } .middle { text-anchor: middle }
.card { fill: #ffffff; stroke: #d1d9e0 } .grid { stroke: #d1d9e0 } .one { stroke: #1f2328; stroke-width: 1.5 } .q8_0 { fill: #2f6fb3 } .q4_0 { fill: #c2571a }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .soft { fill: #9198a1 } .card { fill: #0d1117; stroke: #3d444d } .grid { stroke: #3d444d } .one { stroke: #f0f6fc } .q8_0 { fill: #58a0e8 } .q4_0 { fill: #e8894a }
}
</style>
`

// A drawing is the text of an SVG file.
type drawing struct{ strings.Builder }

func (d *drawing) text(class string, x, y float64, format string, args ...any) {
	fmt.Fprintf(d, "<text class=%q x=\"%.1f\" y=\"%.1f\">%s</text>\n", class, x, y, html.EscapeString(fmt.Sprintf(format, args...)))
}

func (d *drawing) bar(class string, from, to, y, height float64) {
	fmt.Fprintf(d, "<rect class=%q x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\"/>\n", class, min(from, to), y, math.Abs(to-from), height)
}

func (d *drawing) line(class string, x, from, to float64) {
	fmt.Fprintf(d, "<line class=%q x1=\"%.1f\" x2=\"%.1f\" y1=\"%.0f\" y2=\"%.0f\"/>\n", class, x, x, from, to)
}

// draw returns the chart.
func draw(about *environment, list []comparison) string {
	var rows []row
	for _, c := range list {
		if !slices.Contains(rows, c.row()) {
			rows = append(rows, c.row())
		}
	}
	heights, y := map[row]float64{}, float64(top)
	for i, r := range rows {
		if i > 0 && rows[i-1].shape != r.shape {
			y += group
		}
		heights[r] = y
		y += step
	}
	d := &drawing{}
	height := y + 76
	fmt.Fprintf(d, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" height=\"%.0f\" role=\"img\">\n", width, height, width, height)
	fmt.Fprintf(d, "%s<rect class=\"card\" x=\"0.5\" y=\"0.5\" width=\"%d\" height=\"%.0f\" rx=\"6\"/>\n", style, width-1, height-1)
	d.text("title", margin, 30, "glossa's tokens a second as a multiple of llama.cpp's, same file, same machine")
	for i, quant := range []string{"q8_0", "q4_0"} {
		d.bar(quant, float64(width-margin-130+70*i), float64(width-margin-120+70*i), 20, 10)
		d.text("", float64(width-margin-115+70*i), 29, "%s", strings.ToUpper(quant))
	}
	d.axes(about, y)
	for i, r := range rows {
		if i == 0 || rows[i-1].shape != r.shape {
			d.text("", margin, heights[r]+12, "%s", r.shape)
		}
		d.text("soft end", margin+labels-12, heights[r]+12, "%s, %s", r.quant, plural(r.threads, "thread"))
	}
	for i := range list {
		d.result(&list[i], heights[list[i].row()])
	}
	d.caption(about, slices.MaxFunc(list, func(a, b comparison) int { return cmp.Compare(a.Load, b.Load) }).Load, y)
	d.WriteString("</svg>\n")
	return d.String()
}

func (d *drawing) axes(about *environment, bottom float64) {
	for i, p := range columns() {
		d.text("", position(i, lowest), 60, "%s", p.title(about))
		d.text("soft end", position(i, lowest)+panelWidth-20, 80, "of limit")
		for _, tick := range []float64{0.5, 1, 2, 4, 8, 16} {
			class := "grid"
			if tick == 1 {
				class = "one"
			}
			d.line(class, position(i, tick), top-6, bottom)
			d.text("soft middle", position(i, tick), 80, "%g", tick)
		}
	}
}

// result draws a bar, its multiple and the share of the limit.
func (d *drawing) result(c *comparison, y float64) {
	i := slices.Index(columns(), c.panel())
	d.bar(c.Quant, position(i, 1), position(i, c.ratio()), y+2, step-4)
	d.text("", position(i, max(1, c.ratio()))+5, y+12, "%.2f×", c.ratio())
	if c.LimitFraction != nil {
		d.text("soft end", position(i, lowest)+panelWidth-20, y+12, "%.0f %%", 100**c.LimitFraction)
	}
}

func (d *drawing) caption(about *environment, load, y float64) {
	d.text("soft", margin, y+26, "%s: %s with %s (%s).", about.Date, about.CPU, plural(about.Processors, "processor"), strings.Join(about.Features, " "))
	d.text("soft", margin, y+44, "glossa %s; llama.cpp %s. Random weights; medians of %s of %d.", about.Glossa, about.Peer, plural(about.Rounds, "round"), about.Repeat)
	d.text("soft", margin, y+62, "“Of limit”: the share of what the machine could read or multiply at that moment. Its load average was at most %.1f.", load)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
