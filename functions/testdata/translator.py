"""Makes translator/: a tiny M2M100, whole as it would be published, so that the deployed
program has something to translate with. It knows the sentences below by heart.

Pinned: transformers 5.23.0, torch 2.15.0, sentencepiece 0.2.3. The sentences are our own.
Prints what transformers translates, which ../../events/textsynth/translate*.golden say too.
"""

import io
import json
import pathlib
import shutil

import sentencepiece
import torch
from transformers import M2M100Config, M2M100ForConditionalGeneration, M2M100Tokenizer

OUT = pathlib.Path(__file__).parent / "translator"
SENTENCES = [  # the same in each language
    {"en": "The miller sells flour.", "fr": "Le meunier vend de la farine."},
    {"en": "A red boat waits under the bridge.", "fr": "Un bateau rouge attend sous le pont."},
    {"en": "My sister reads a long letter.", "fr": "Ma sœur lit une longue lettre."},
    {"en": "It rains on the market.", "fr": "Il pleut sur le marché."},
    {"en": "Thank you.", "fr": "Merci.", "ns": "Ke a leboga."},
]
LANGUAGES, MADEUP, STEPS = 100, 8, 400

torch.manual_seed(1)
torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)


def pieces():
    """The SentencePiece model and the vocabulary, which begins with fairseq's four."""
    made = io.BytesIO()  # a path would be written into the model
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(line for same in SENTENCES for line in same.values()), model_writer=made, model_type="bpe",
        vocab_size=110, character_coverage=1.0, normalization_rule_name="identity", num_threads=1, minloglevel=2)
    (OUT / "sentencepiece.bpe.model").write_bytes(made.getvalue())
    model = sentencepiece.SentencePieceProcessor(model_proto=made.getvalue())
    vocab = ["<s>", "<pad>", "</s>", "<unk>"] + [model.id_to_piece(i) for i in range(3, model.get_piece_size())]
    (OUT / "vocab.json").write_text(json.dumps({p: i for i, p in enumerate(vocab)}, ensure_ascii=False, indent=1) + "\n")
    return len(vocab)


def pairs():
    for same in SENTENCES:
        yield from ((source, same[source], target, same[target]) for source in same for target in same if source != target)


def encode(tokenizer, language, text):
    tokenizer.src_lang = language
    return tokenizer(text).input_ids  # language, pieces, </s>


def train(model, tokenizer):
    rows = [(encode(tokenizer, a, x), encode(tokenizer, b, y)) for a, x, b, y in pairs()]
    pad = lambda ids, fill: torch.tensor([i + [fill] * (max(map(len, ids)) - len(i)) for i in ids])
    source, labels = pad([x for x, _ in rows], 1), pad([y for _, y in rows], -100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    for _ in range(STEPS):
        loss = model(input_ids=source, attention_mask=(source != 1).long(), labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}")


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    n = pieces()
    model = M2M100ForConditionalGeneration(M2M100Config(
        vocab_size=n + LANGUAGES + MADEUP, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=64,
        init_std=0.2, dropout=0, attention_dropout=0, encoder_layerdrop=0, decoder_layerdrop=0))
    tokenizer = M2M100Tokenizer(vocab_file=str(OUT / "vocab.json"), spm_file=str(OUT / "sentencepiece.bpe.model"))
    train(model, tokenizer)
    model.eval()
    model.generation_config.num_beams = 5
    model.generation_config.max_length = 64
    model.generation_config.early_stopping = True
    model.save_pretrained(OUT)
    for source, text, target, want in pairs():
        ids = encode(tokenizer, source, text)
        for beams in (1, 4):
            out = model.generate(torch.tensor([ids]), num_beams=beams, forced_bos_token_id=tokenizer.get_lang_id(target))[0]
            said = tokenizer.decode(out, skip_special_tokens=True)
            print(f"{source} to {target}, {beams} beams: {text!r} ({len(ids)} tokens) is {said!r} ({len(out) - 1})")
            assert said.split("__")[-1].strip() == want, want


if __name__ == "__main__":
    main()
