package chat

import "regexp"

// markPattern matches what looks like the spelling of a special token: <|im_end|>, <｜User｜>,
// <s>, </s>, <start_of_turn>, [INST], [/INST].
var markPattern = regexp.MustCompile(`<[|｜][^<>\s"']{1,60}[|｜]>|</?s>|<(?:bos|eos|(?:start|end)_of_\w{1,20})>|\[/?[A-Z][A-Z_]{2,30}\]`)

// spelledMarks returns what looks like special tokens in the text of a template.
func spelledMarks(text string) []string { return markPattern.FindAllString(text, -1) }
