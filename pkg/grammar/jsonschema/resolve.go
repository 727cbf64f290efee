package jsonschema

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"glossa/pkg/grammar/fault"
)

// resolve returns the target of a reference. It reads nothing outside the document.
func (c *compiler) resolve(from *value, ref string) (*value, error) {
	address, fragment, _ := strings.Cut(ref, "#")
	resource := c.root
	if c.named {
		c.nameParts()
		resource = from
		for c.bases[resource] == nil {
			resource = resource.parent
		}
	}
	if address != "" {
		if resource = c.resource(resource, address); resource == nil {
			return nil, fault.New(from.pointer(), "$ref", "%s is not in the document, and remote references are not supported", ref)
		}
	}
	if target := c.part(resource, fragment); target != nil {
		return target, nil
	}
	// Many documents give an id to a part, but refer to the whole as if the part had none.
	if target := c.part(c.root, fragment); target != nil {
		return target, nil
	}
	return nil, fault.New(from.pointer(), "$ref", "%s does not exist", ref)
}

// dynamic returns the target of a reference by some keyword that, as a $ref, would lead to
// target. It returns nil if the target depends on the dynamic scope. The outermost scope is
// the document.
func (c *compiler) dynamic(keyword, ref string, target *value) *value {
	_, name, _ := strings.Cut(ref, "#")
	of := ""
	switch v := target.get("$recursiveAnchor"); {
	case keyword == "$dynamicRef" && isText(target.get("$dynamicAnchor"), name):
		of = "#" + name
	case keyword != "$recursiveRef" || v == nil || v.kind != booleanKind || !v.yes:
		return target
	}
	list := c.anchored[of]
	if at := slices.IndexFunc(list, func(a dynamicAnchor) bool { return a.resource == c.root }); at >= 0 {
		return list[at].of
	}
	if len(list) == 1 {
		return list[0].of
	}
	return nil
}

// isText reports whether v is a string.
func isText(v *value, text string) bool { return v != nil && v.kind == stringKind && v.text == text }

// resource returns the part of the document that has an address, or nil.
func (c *compiler) resource(from *value, address string) *value {
	u, err := url.Parse(address)
	if err != nil || !c.named {
		return nil
	}
	return c.resources[c.bases[from].ResolveReference(u).String()]
}

// part returns the value that a fragment names in a resource, or nil.
func (c *compiler) part(resource *value, fragment string) *value {
	if plain, err := url.PathUnescape(fragment); err == nil {
		fragment = plain
	}
	if fragment == "" {
		return resource
	}
	path, ok := strings.CutPrefix(fragment, "/")
	if !ok {
		return c.anchors[anchor{resource, fragment}]
	}
	v := resource
	for token := range strings.SplitSeq(path, "/") {
		if v.kind == arrayKind {
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v.items) {
				return nil
			}
			v = v.items[i]
		} else if v = v.get(unescapeToken.Replace(token)); v == nil {
			return nil
		}
	}
	return v
}

var unescapeToken = strings.NewReplacer("~1", "/", "~0", "~")

// A dynamicAnchor is a schema that dynamic references may lead to.
type dynamicAnchor struct{ resource, of *value }

// An anchor is a name in a resource.
type anchor struct {
	resource *value
	name     string
}

// nameParts indexes the identifiers and anchors of the document.
func (c *compiler) nameParts() {
	if c.bases != nil {
		return
	}
	c.bases = map[*value]*url.URL{c.root: {}}
	c.resources = map[string]*value{}
	c.anchors = map[anchor]*value{}
	c.anchored = map[string][]dynamicAnchor{}
	c.nameSchema(c.root, c.root)
}

// subschemaKinds describes the schemas in the value of a keyword: "one" is a schema, "all" is an
// object whose members are schemas, "any" is a schema or a list of schemas.
var subschemaKinds = map[string]string{
	"items": "any", "additionalItems": "one", "contains": "one", "additionalProperties": "one", "propertyNames": "one",
	"not": "one", "if": "one", "then": "one", "else": "one", "unevaluatedItems": "one", "unevaluatedProperties": "one",
	"allOf": "any", "anyOf": "any", "oneOf": "any", "prefixItems": "any",
	"properties": "all", "patternProperties": "all", "definitions": "all", "$defs": "all",
	"dependentSchemas": "all", "dependencies": "all",
}

// nameSchema indexes the schema v of a resource and its subschemas.
func (c *compiler) nameSchema(v, resource *value) {
	if v.kind != objectKind {
		return
	}
	if v.get("$ref") == nil || c.draft > draft7 {
		resource = c.nameResource(v, resource)
	}
	for i, key := range v.keys {
		item := v.items[i]
		switch how := subschemaKinds[key]; {
		case how == "":
		case how == "all" && item.kind == objectKind, how == "any" && item.kind == arrayKind:
			for _, s := range item.items {
				c.nameSchema(s, resource)
			}
		case how != "all":
			c.nameSchema(item, resource)
		}
	}
}

// nameResource indexes v alone and returns its resource.
func (c *compiler) nameResource(v, resource *value) *value {
	id := v.get("$id")
	if c.draft <= draft4 || c.draft == undeclared && id == nil {
		id = v.get("id")
	}
	if id != nil && id.kind == stringKind {
		name, fragment, _ := strings.Cut(id.text, "#")
		u, err := url.Parse(name)
		if err == nil && name != "" {
			u = c.bases[resource].ResolveReference(u)
			resource = v
			c.bases[v], c.resources[u.String()] = u, v
		}
		if fragment != "" {
			c.anchors[anchor{resource, fragment}] = v
		}
	}
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		if a := v.get(key); a != nil && a.kind == stringKind {
			c.anchors[anchor{resource, a.text}] = v
			if key == "$dynamicAnchor" {
				c.anchored["#"+a.text] = append(c.anchored["#"+a.text], dynamicAnchor{resource, v})
			}
		}
	}
	if a := v.get("$recursiveAnchor"); v == resource && a != nil && a.kind == booleanKind && a.yes {
		c.anchored[""] = append(c.anchored[""], dynamicAnchor{v, v})
	}
	return resource
}
