package arch

import "glossa/pkg/engine/transformer"

// mistral is Jiang et al. 2023: Llama with a window in all layers, in its first version. A
// configuration without sliding_window has the class's, 4096.
var mistral = llamaLike("Mistral", func(f *family) {
	f.context = field{"max_position_embeddings", 131072}
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		setRotary(s, llamaHeads(c, s, rope{base: real{"rope_theta", 10000}}))
		if _, stated := c.fields["sliding_window"]; stated && !c.has("sliding_window") { // null
			return
		}
		setWindows(c, s, c.windowed(len(s.Decoder), everyLayer), field{"sliding_window", 4096})
	}
})
