package toolcall

// Families returns the syntaxes that are known.
func Families() []Syntax {
	return []Syntax{
		Lines(), Hermes(), Llama3(), Mistral(), MistralArgs(), Phi4(), Granite(), CommandR(), DeepSeek(),
		QwenCoder(), GLM(), LFM2(), OLMo3(), Harmony(), Cohere2(), Kimi(), DSML(), DSML4(), HunYuan(), Ernie(),
		Gemma4(), DeepSeekR1(), MiniCPM3(), Hammer(), Functionary(),
	}
}

// object is a call as an object in JSON, with the spacing of Python's json.dumps.
func object(s Syntax, name, arguments string) Syntax {
	s.Call += `{"` + name + `": "`
	s.Middle = `", "` + arguments + `": `
	s.End = "}" + s.End
	return s
}

// Lines writes each call as a line of JSON: the form for models without one of their own.
func Lines() Syntax {
	return object(Syntax{Family: "lines", Trigger: "{", Between: "\n"}, "name", "arguments")
}

// Hermes is the form of Nous Research's Hermes 2 Pro, which Qwen 2.5, Qwen 3, SmolLM 3 and
// Granite 4 share.
func Hermes() Syntax {
	return object(Syntax{
		Family: "hermes", Trigger: "<tool_call>", Anywhere: true, Call: "<tool_call>\n", End: "\n</tool_call>", Between: "\n",
	}, "name", "arguments")
}

// Ernie is the form of ERNIE 4.5's thinking models: that of Hermes, with an end of line after each
// call.
func Ernie() Syntax {
	s := Hermes()
	s.Family, s.End = "ernie", s.End+"\n"
	return s
}

// Llama3 is the form of Llama 3.1 to 3.3, which were published with one call in an answer;
// the semicolon between several is that of vLLM's llama3_json.
func Llama3() Syntax {
	return object(Syntax{Family: "llama3", Trigger: "{", Between: "; "}, "name", "parameters")
}

// Mistral is the form of Mistral 7B v0.3 and Nemo.
func Mistral() Syntax {
	return object(Syntax{
		Family: "mistral", Trigger: "[TOOL_CALLS]", Anywhere: true, Open: "[TOOL_CALLS] [", Between: ", ", Close: "]",
	}, "name", "arguments")
}

// MistralArgs is the form of Mistral's models since 2025 (Small 3.2, Ministral 3, Devstral).
func MistralArgs() Syntax {
	return Syntax{Family: "mistral-args", Trigger: "[TOOL_CALLS]", Anywhere: true, Call: "[TOOL_CALLS]", Middle: "[ARGS]"}
}

// Phi4 is the form of Phi-4-mini.
func Phi4() Syntax {
	return object(Syntax{
		Family: "phi4", Trigger: "<|tool_call|>", Anywhere: true, Open: "<|tool_call|>[", Between: ", ", Close: "]<|/tool_call|>",
	}, "name", "arguments")
}

// Granite is the form of Granite 3.1 to 3.3.
func Granite() Syntax {
	return object(Syntax{
		Family: "granite", Trigger: "<tool_call>", Anywhere: true, Open: "<tool_call>[", Between: ", ", Close: "]",
	}, "name", "arguments")
}

// HunYuan is the form of HunYuan-A13B.
func HunYuan() Syntax {
	return object(Syntax{
		Family: "hunyuan", Trigger: "<tool_calls>", Anywhere: true, Open: "<tool_calls>[", Between: ", ", Close: "]</tool_calls>",
	}, "name", "arguments")
}

// CommandR is the form of Cohere's Command R7B and A.
func CommandR() Syntax {
	return object(Syntax{
		Family: "command-r", Trigger: "<|START_ACTION|>", Anywhere: true, Open: "<|START_ACTION|>[", Between: ", ", Close: "]<|END_ACTION|>",
	}, "tool_name", "parameters")
}

// DeepSeek is the form of DeepSeek V3.1.
func DeepSeek() Syntax {
	return Syntax{
		Family: "deepseek", Trigger: "<｜tool▁calls▁begin｜>", Anywhere: true,
		Open: "<｜tool▁calls▁begin｜>", Call: "<｜tool▁call▁begin｜>", Middle: "<｜tool▁sep｜>", End: "<｜tool▁call▁end｜>", Close: "<｜tool▁calls▁end｜>",
	}
}

// DeepSeekR1 is the form of DeepSeek V3 and R1: that of V3.1 with the arguments in a block of code.
func DeepSeekR1() Syntax {
	s := DeepSeek()
	s.Family, s.Between = "deepseek-r1", "\n"
	s.Call += "function<｜tool▁sep｜>"
	s.Middle, s.End = "\n```json\n", "\n```"+s.End
	return s
}

// DSML is the form of DeepSeek V3.2: tags that say which values are strings.
func DSML() Syntax { return dsml("dsml", "<｜DSML｜function_calls>", "</｜DSML｜function_calls>") }

// DSML4 is the form of DeepSeek V4: that of V3.2, in another tag.
func DSML4() Syntax { return dsml("dsml-4", "<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>") }

func dsml(family, begin, end string) Syntax {
	return Syntax{
		Family: family, Trigger: begin, Anywhere: true, Open: begin + "\n", Close: end,
		Call: `<｜DSML｜invoke name="`, Middle: "\">\n", End: "</｜DSML｜invoke>\n",
		Arguments: Arguments{
			Style: Tagged, Open: `<｜DSML｜parameter name="`, Middle: `" string="true">`, Typed: `" string="false">`, Close: "</｜DSML｜parameter>\n",
		},
	}
}

// QwenCoder is the form of Qwen3-Coder and Qwen 3.5.
func QwenCoder() Syntax {
	return Syntax{
		Family: "qwen-coder", Trigger: "<tool_call>", Anywhere: true,
		Call: "<tool_call>\n<function=", Middle: ">\n", End: "</function>\n</tool_call>", Between: "\n",
		Arguments: Arguments{Style: Tagged, Open: "<parameter=", Middle: ">\n", Close: "\n</parameter>\n"},
	}
}

// GLM is the form of GLM 4.5 to 4.7.
func GLM() Syntax {
	return Syntax{
		Family: "glm", Trigger: "<tool_call>", Anywhere: true, Call: "<tool_call>", Middle: "\n", End: "</tool_call>", Between: "\n",
		Arguments: Arguments{Style: Tagged, Open: "<arg_key>", Middle: "</arg_key>\n<arg_value>", Close: "</arg_value>\n"},
	}
}

// LFM2 is the form of Liquid's LFM2: a list of calls in Python.
func LFM2() Syntax {
	return Syntax{
		Family: "lfm2", Trigger: "<|tool_call_start|>", Anywhere: true,
		Open: "<|tool_call_start|>[", Middle: "(", End: ")", Between: ", ", Close: "]<|tool_call_end|>",
		Arguments: Arguments{Style: Python, Middle: "=", Between: ", "},
	}
}

// MiniCPM3 is the form of MiniCPM3: a block of code in Python.
func MiniCPM3() Syntax {
	return Syntax{
		Family: "minicpm3", Trigger: "<|tool_call_start|>", Anywhere: true,
		Open: "<|tool_call_start|>\n```python\n", Middle: "(", End: ")", Between: "\n", Close: "\n```\n<|tool_call_end|>",
		Arguments: Arguments{Style: Python, Middle: "=", Between: ","},
	}
}

// Gemma4 is the form of Gemma 4.
func Gemma4() Syntax {
	return Syntax{
		Family: "gemma4", Trigger: "<|tool_call>", Anywhere: true, Call: "<|tool_call>call:", Middle: "{", End: "}<tool_call|>",
		Arguments: Arguments{Style: Marked, Middle: ":", Between: ",", Quote: `<|"|>`},
	}
}

// OLMo3 is the form of OLMo 3: calls in Python, one a line.
func OLMo3() Syntax {
	return Syntax{
		Family: "olmo3", Trigger: "<function_calls>", Anywhere: true,
		Open: "<function_calls>", Middle: "(", End: ")", Between: "\n", Close: "</function_calls>",
		Arguments: Arguments{Style: Python, Middle: "=", Between: ", "},
	}
}

// Harmony is the form of GPT-OSS: a call is a message to the tool. Text is a message on another
// channel. Also is how the published template writes calls, and Call how models mostly do (the
// harmony format in OpenAI's documentation of 2025).
func Harmony() Syntax {
	return Syntax{
		Family: "harmony", Trigger: "<|channel|>commentary to=functions.", Text: "<|channel|>final<|message|>",
		Call: "<|channel|>commentary to=functions.", Middle: " <|constrain|>json<|message|>", End: "<|call|>",
		Also: Head{Call: " to=functions.", Middle: "<|channel|>commentary json<|message|>"}, One: true,
	}
}

// Hammer is the form of Hammer 2.1: a list on lines. An empty list, which says that no tool fits,
// is text.
func Hammer() Syntax {
	return object(Syntax{
		Family: "hammer", Trigger: "[\n    {", Open: "[\n    ", Between: ",\n    ", Close: "\n]",
	}, "name", "arguments")
}

// Cohere2 is the form of Cohere's models since 2026: that of Command R, on lines.
func Cohere2() Syntax {
	return object(Syntax{
		Family: "cohere2", Trigger: "<|START_ACTION|>", Text: "<|START_TEXT|>",
		Open: "<|START_ACTION|>[\n    ", Between: ",\n    ", Close: "\n]<|END_ACTION|>",
	}, "tool_name", "parameters")
}

// Functionary is the form of functionary v3.2: a message to all, or messages to tools.
func Functionary() Syntax {
	return Syntax{Family: "functionary", Trigger: ">>>", Text: ">>>all\n", Call: ">>>", Middle: "\n"}
}

// Kimi is the form of Kimi K2, which numbers its calls: there is the first only.
func Kimi() Syntax {
	return Syntax{
		Family: "kimi", Trigger: "<|tool_calls_section_begin|>", Anywhere: true, Open: "<|tool_calls_section_begin|>",
		Call: "<|tool_call_begin|>functions.", Middle: ":0<|tool_call_argument_begin|>", End: "<|tool_call_end|>",
		Close: "<|tool_calls_section_end|>", One: true,
	}
}
