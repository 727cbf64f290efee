package alpha

import (
	"encoding/json"
	"fmt"
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// Messages of the AI SDK's interfaces (npm ai, TextStreamChatTransport) have parts instead
// of content. Source: UIMessagePart and convertToModelMessages of its version 6.

// uiPart holds the keys that are read of a part of type text. The SDK also sends state and
// providerMetadata, which describe the part's origin.
type uiPart struct {
	Type string  `json:"type"`
	Text *string `json:"text"`
}

// text returns the text of the message at path: its content, or its parts of type text.
func (m *message) text(path string) (string, error) {
	if m.Parts == nil {
		if m.Content == nil {
			return "", &llm.Error{Code: llm.Invalid, Param: path + ".content", Message: "is required"}
		}
		return *m.Content, nil
	}
	var all strings.Builder
	for i, raw := range m.Parts {
		text, err := partText(raw, m.Role, fmt.Sprintf("%s.parts[%d]", path, i))
		if err != nil {
			return "", err
		}
		all.WriteString(text)
	}
	// Interfaces of the SDK's version 4 send both.
	if m.Content != nil && *m.Content != all.String() {
		return "", &llm.Error{Code: llm.Invalid, Param: path + ".content", Message: "differs from the text of parts: send only one of them"}
	}
	return all.String(), nil
}

// partText returns the text of a part of a role's message. It skips parts that mark steps,
// name sources or serve the interface, as the SDK itself does before it calls a model.
func partText(raw json.RawMessage, role, path string) (string, error) {
	var part uiPart
	if err := json.Unmarshal(raw, &part); err != nil {
		return "", wire.UnmarshalAt(path, raw, &part) // returns a better error
	}
	switch {
	case part.Type == "text" && part.Text == nil:
		return "", &llm.Error{Code: llm.Invalid, Param: path + ".text", Message: "is required"}
	case part.Type == "text":
		return *part.Text, nil
	case part.Type == "step-start" || part.Type == "source-url" || part.Type == "source-document" || strings.HasPrefix(part.Type, "data-"):
		return "", nil
	case part.Type == "":
		return "", &llm.Error{Code: llm.Invalid, Param: path + ".type", Message: "is required"}
	}
	return "", &llm.Error{Code: llm.Unsupported, Param: path, Message: fmt.Sprintf("parts of type %.40q of the role %s are not supported: send text", part.Type, role)}
}
