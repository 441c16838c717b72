"""Losses of test/pytorch/apply.py: how the result of a batch follows from those of its parts.

LOSSES are right on every mesh. Those that return several results have the rest in OUTSIDE.
REFUSED do not follow from the ranks' results: name, and what the message says.
"""

import torch
from torch.nn import functional as F

BATCH, LENGTH, WORDS, WIDTH = 4, 8, 32, 12


class Words(torch.nn.Module):
    """A model of single words. The loss is a function of the module, logits[b, s, v], labels[b, s] and weights[b, s]."""

    def __init__(self, loss):
        super().__init__()
        self.table = torch.nn.Embedding(WORDS, WIDTH)
        self.norm = torch.nn.BatchNorm1d(LENGTH) if loss is normed else torch.nn.Identity()
        self.head = torch.nn.Linear(WIDTH, WORDS)
        self.loss = loss

    def forward(self, ids, labels=None, weights=None):
        logits = self.head(torch.tanh(self.norm(self.table(ids))))
        return logits if labels is None else self.loss(self, logits, labels, weights)


def batch_of(step):
    torch.manual_seed(100 + step)
    ids, labels = torch.randint(0, WORDS, (2, BATCH, LENGTH))
    # Samples have different numbers of labels that count, also after a shift, and different weights.
    labels[torch.arange(LENGTH) > torch.arange(BATCH)[:, None] + 1 + step % 3] = -100
    return ids, labels, torch.rand(BATCH, LENGTH) * torch.arange(1, BATCH + 1)[:, None]


def entropy(logits, labels, **options):
    return F.cross_entropy(logits.flatten(0, -2), labels.flatten(), **options)


def each(logits, labels):
    """The loss of each word."""
    return F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")


def shifted(module, logits, labels, weights):
    return entropy(logits[:, :-1], labels[:, 1:], ignore_index=-100)


def of_rows(module, logits, labels, weights):
    """The labels are cut after their dimensions have been divided and exchanged."""
    logits, labels = logits.unflatten(1, (2, 4)).transpose(1, 2), labels.unflatten(1, (2, 4)).transpose(1, 2)
    return entropy(logits[:, 1:, 0], labels[:, 1:, 0])


def of_samples(module, logits, labels, weights):
    """All samples count alike, whatever their weights are."""
    return ((each(logits, labels) * weights).sum(1) / weights.sum(1)).mean()


def weighted(module, logits, labels, weights):
    return (each(logits, labels) * weights).sum() / weights.sum()


def weighted_at_least(module, logits, labels, weights):
    """The weights of the first sample sum up to less than the limit, and those of the whole batch to more."""
    weights = weights[:, 1:]
    return (each(logits[:, 1:], labels[:, 1:]) * weights).sum() / weights.sum().clamp(min=9.0)


def summed(module, logits, labels, weights):
    return entropy(logits, labels, reduction="sum") + 0.5 * (weights[..., None] * logits.square()).sum()


def regular(module, logits, labels, weights):
    """A term of the parameters alone has the same value on all ranks."""
    return entropy(logits, labels) + 0.1 * module.head.weight.square().mean()


def two_means(module, logits, labels, weights):
    return 2.0 - logits.square().mean() - 0.5 * (weights[..., None] * logits).mean()


def ratio(module, logits, labels, weights):
    """Results of which one is divided over the batch."""
    losses = each(logits, labels)
    return (losses * weights.square()).sum(), losses.mean(1), weights.square().sum()


def balance(module, logits, labels, weights):
    return entropy(logits, labels), logits.softmax(-1).mean((0, 1)), torch.sigmoid(logits).mean((0, 1))


LOSSES = {function.__name__: function for function in
          (shifted, of_rows, of_samples, weighted, weighted_at_least, summed, regular, two_means, ratio, balance)}
OUTSIDE = {
    "ratio": lambda above, one, below: above / below,
    "balance": lambda loss, shares, gates: loss + 2.0 * (shares * gates).sum(),
}


def product(module, logits, labels, weights):
    return OUTSIDE["balance"](*balance(module, logits, labels, weights))


def root(module, logits, labels, weights):
    return logits.square().mean().sqrt()


def normed(module, logits, labels, weights):
    return entropy(logits, labels)


def different_weights(module, logits, labels, weights):
    return entropy(logits, labels) + 0.1 * logits.square().mean()


def sum_and_mean(module, logits, labels, weights):
    return entropy(logits, labels, reduction="sum") + logits.square().mean()


def sum_and_term(module, logits, labels, weights):
    return logits.square().sum() + module.head.weight.square().sum()


def pairs(module, logits, labels, weights):
    """Each sample is compared with all others."""
    rows = logits.mean(1)
    return (rows @ rows.t()).square().mean()


def centred(module, logits, labels, weights):
    return (logits - logits.mean(0)).square().mean()


def largest(module, logits, labels, weights):
    return logits.amax((0, 1)).sum()


def shifted_flat(module, logits, labels, weights):
    """The last word of a sample meets the first label of the next."""
    return F.cross_entropy(logits.flatten(0, 1)[:-1], labels.flatten()[1:])


REFUSED = [
    (product, "is not linear in means and sums over the batch; return its operands as results of the module"),
    (root, "'%loss = sqrt %mean -> []', is not linear in means"),
    (normed, "gives a mean or a sum over the batch to each sample"),
    (different_weights, "joins means and sums over the batch whose ranks have different weights"),
    (sum_and_mean, "joins means and sums"),
    (sum_and_term, "adds a number of all ranks to a sum"),
    (pairs, "joins samples with other samples"),
    (centred, "gives a mean or a sum over the batch to each sample"),
    (largest, "is neither a mean nor a sum over the batch; plan without axes that divide the batch: @fsdp"),
    (shifted_flat, "depends on the position of samples along"),
]
