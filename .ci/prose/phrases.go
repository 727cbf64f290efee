package main

import "regexp"

// A phrase is a wording that must not come back.
type phrase struct {
	bad     *regexp.Regexp // matches lower-case text
	fine    *regexp.Regexp // matches of bad that match it too are correct; may be nil
	instead string
	example string // a text that the phrase matches
}

// not returns a phrase without exceptions.
func not(bad, instead, example string) phrase {
	return phrase{bad: regexp.MustCompile(bad), instead: instead, example: example}
}

// except adds the exceptions of a phrase.
func (p phrase) except(fine string) phrase {
	p.fine = regexp.MustCompile(fine)
	return p
}

// phrases returns the list. Add a phrase when a reader stops at one.
func phrases() []phrase {
	return []phrase{
		// Requests and parameters.
		not(`\brefused by name|never dropped\b`, `rejected by name, never silently ignored`, "other keys are refused by name"),
		not(`\bmust be given\b`, `is required`, "prompt: must be given"),
		not(`\b(is|are) given twice\b|\bgiven twice\b|\bstands? twice\b`, `appears twice`, "the key is given twice"),
		not(`\bcan be sent with [^.;]{1,40} only\b`, `is only accepted with …`, "can be sent with stream: true only"),
		not(`; only [^.;]{1,30} can be sent\b`, `only … is accepted`, "no names; only \"\" can be sent"),
		not("; taken: ", "accepted only as", "chunks are not padded; taken: `false`"),
		not(`\bhonoured(, by glossa| \|)`, `supported`, "honoured, by glossa"),
		not(`\b(is|are) not served, only\b`, `… is not supported: send …`, "a part of type image is not served, only text is"),
		not(`\bdoes not take (it|them)\b|\btakes no (texts|chats|token ids)\b|\btakes texts, no\b`, `does not support …; accepts …, not …`, "this model does not take it"),
		not(`\banswered with a list\b`, `a list returns a list`, "a list is answered with a list"),
		not(`\bso many of the\b|\bso many (texts|completions|tokens) are\b`, `this number of`, "draw among so many of the likeliest tokens"),
		not(`\bthe most tokens (to|that)\b`, `the maximum number of tokens`, "the most tokens to generate"),
		not(`\bwherever [a-z_]+ ends (it|them)\b`, `complete for every max_tokens`, "whole wherever max_tokens ends it"),
		not(`\b(messages|prompts) are text only\b`, `models read images, too`, "prompts are text only"),
		not(`\bin the word of\b`, `under the name of`, "the same, in the word of the API layer"),
		not(`\bwithout effect\b`, `no effect; ignored`, "not known, without effect"),
		not(`\bis no canonical\b|; is %q meant`, `did you mean …?`, "x is no canonical key; is y meant?"),

		// Errors.
		not(`(\w+ )?\b(is|are) no [a-z]+`, `is not a …`, "it is no directory that can be read").
			except(`^(there|where|here|say) |\bno (longer|more|less|better|worse|different)\b`),
		not(`\b(is|are) none of\b`, `must be one of …`, "%q is none of debug, info"),
		not(`\bis no number from\b|\bfrom 1 on\b`, `must be a positive integer`, "\"x\" is no number from 1 on"),
		not(`\bis neither true nor false\b`, `must be true or false`, "%q is neither true nor false"),
		not(`\bhas not (a|an|the|two|one)\b`, `does not have`, "%q has not two parts"),
		not(`\bthere (is|are) no (such )?(kind|role|family|shape) (%|"|\\")`, `unknown …`, "there is no role \"x\""),
		not(`\bmend (it|them)\b|\bhas mistakes\b`, `fix it; has errors`, "bedrock: mend it first"),
		not(`\bwhich is the bound\b`, `exceeds the limit of …`, "more than 9 bytes, which is the bound"),
		not(`\bhas both (the )?ids?\b|\bhave both id\b`, `both have the id`, "%q and %q have both id 3"),
		not(`\b(ends|ended) too early\b`, `unexpected end; is truncated`, "the file ends too early").
			except(`^ended too early$`),
		not(`\bcut short\b`, `is truncated`, "the body is cut short"),
		not(`\bbroke off\b`, `the connection was lost`, "the answer broke off"),
		not(`\bcannot be kept\b`, `cannot be stored`, "the token cannot be kept"),
		not(`\bwere asked for\b|\bwhich it was not asked\b`, `were requested`, "bytes 1 to 9 were asked for"),
		not(`\basked for (again|once more|here)\b`, `retried; required here`, "checked, and asked for once more"),
		not(`\b(its|the) log tells\b|\btells? (why|neither)\b`, `see its log; reports`, "is wrong: its log tells why"),
		not(`\bthis program knows\b`, `… is not supported`, "version 3, this program knows 2"),
		not(`\b(gave|gives?) no answer\b`, `returned no answer`, "the model gave no answer"),
		not(`\bhas no room now\b`, `is at capacity`, "the remote model has no room now"),
		not(`\bthe client left\b`, `the client disconnected`, "the client left"),
		not(`\btaken for\b`, `is considered …`, "a slow client is taken for gone"),
		not(`\bmight have taken\b|\bis taken by something\b`, `exists and is not …`, "the name is taken by something else"),

		// Documentation.
		not(`\b(is|are|was|were) told\b`, `gets …; is called with …`, "what is beyond that is told 429"),
		not(`\b(to|for|by|of|from|with) who(m)? (asks?|wants?|runs?|sends?|reads?|uses?)\b`, `for those who …; for the operator`, "sent even to who asks for it"),
		not(`\bbeside\b`, `next to; besides; in addition to`, "true beside body"),
		not(`\b(goes|go|went) on (where|from)\b`, `resumes after …`, "goes on where it was interrupted"),
		not(`\bnot used for (the )?longest\b|\bleast recently used (goes|go) first\b`, `the least recently used is evicted first`, "the least recently used go first"),
		not(`\brepeats? (an |the )?answers?\b`, `serves a cached response`, "cache_seconds repeats answers"),
		not(`\basks? for no key\b|\bno key (would be|is) asked for\b|\bwithout (being )?asked for a key\b`, `no key required`, "an open server asks for no key"),
		not(`\bwhat is beyond (it|that|this)\b`, `further requests get 429`, "what is beyond that is an error"),
		not(`\bof what there is\b|\bmemory that there is\b`, `the available …`, "three quarters of what there is"),
		not(`\bin place of that of\b`, `instead of X's`, "base URL in place of that of S3"),
		not(`\bstay, but for\b|\bbut for files\b`, `except`, "those inside stay, but for files of the same name"),
		not(`\bhas no place for\b|\bhave no place for\b`, `does not support`, "keys that a model has no place for"),
		not(`\bwhere (it|they|three|there) (took|were|was) [0-9a-z]`, `instead of …`, "4 microseconds where it took 110"),
		not(`\bcannot be held to\b`, `cannot be enforced`, "keywords that cannot be held to"),
		not(`\b(body|upload|bodies|uploads|models?|keys?|requests?)[a-z ,]{0,60} (is|are) (a )?(400|401|403|404|405|413|422|429|500|502|503|507)\b`, `gets 413`, "a gzip body that becomes larger is 413"),
		not(`\bfor how long what\b|\bwho decodes together\b`, `do not retry before …`, "for how long what is broken is left so"),
		not(`\bprovider does not (send|report) (them|all)\b`, `the provider omits …`, "null if a remote provider does not send them"),
		not(`\bwhich none can be\b`, `is invalid`, "the region is \"x\", which none can be"),
		not(`\bin the model's word\b|\bas the vocabulary spells\b`, `in the model's own words; as spelled in the vocabulary`, "tokens as the vocabulary spells them"),
	}
}
