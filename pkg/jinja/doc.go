// Package jinja runs the chat templates of language models: the subset of Jinja that they use, with Python's output.
// It knows nothing of chats, roles or tokenizers, and does no I/O.
//
// [Compile] parses a template once; [Template.Execute] renders it with variables, concurrently if need be. The
// environment is that of transformers' apply_chat_template (jinja2 3.1.6): trim_blocks, lstrip_blocks, loop controls,
// generation blocks, the immutable sandbox, and tojson as json.dumps without escapes for HTML.
//
// # Provenance
//
// The bytes of a string are trusted if the template's author wrote them, and untrusted if they come from the caller's
// data. All operations keep this apart: the output is a list of spans, so that a caller can let special tokens count in
// the template's text and not in what users wrote. Quotes and brackets of tojson are trusted, what they enclose is data.
// Comparisons, lookups and lengths ignore provenance. [Trusted] and [Trust] mark a caller's own values, such as the
// text of the token that begins a sequence.
//
// # Safety
//
// A template may come from anywhere. [Limits] bound its steps, output, memory and depth; the context ends it; there are
// no attributes but those of plain values. Lists and dicts never change.
//
// # What is supported
//
//	statements   for (if, else, recursive, tuples), if, set, set blocks, macro, call, filter, with, generation, break,
//	             continue, print, raw, comments; white-space control with - and +
//	expressions  all of Jinja's: arithmetic, ~, comparisons in chains, in, and, or, not, is, if-else, filters, slices,
//	             lists, tuples, dicts, * and ** in calls
//	loop         index index0 revindex revindex0 first last length depth depth0 previtem nextitem cycle changed
//	functions    range namespace dict joiner cycler raise_exception strftime_now (if Limits.Now is set)
//	filters      abs attr batch capitalize center count d default dictsort e escape first float forceescape format
//	             from_json groupby indent int items join last length list lower map max min reject rejectattr replace
//	             reverse round safe select selectattr slice sort string sum title tojson trim truncate unique upper
//	             wordcount
//	tests        boolean callable defined divisibleby eq equalto escaped even false filter float ge greaterthan gt in
//	             integer iterable le lessthan lower lt mapping ne none number odd sameas sequence string test true
//	             undefined upper, and the operators == != < <= > >=
//	str          capitalize center count endswith find index isalnum isalpha isascii isdecimal isdigit islower isspace
//	             istitle isupper join ljust lower lstrip partition removeprefix removesuffix replace rfind rindex rjust
//	             rpartition rsplit rstrip split splitlines startswith strip swapcase title upper zfill, and % formats
//	dict         copy get items keys values
//	list         copy count index
//
// Templates that use include, import, extends, block, autoescape or an unknown filter are refused by Compile.
// Methods that change a list or a dict fail with [Forbidden], as in the sandbox. TestDifferences lists the deliberate
// differences from Python.
package jinja
