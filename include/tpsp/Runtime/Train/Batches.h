/// Reads batches of tokens for those arguments of a plan that are data
/// (PlanBuffer::data).
#ifndef TPSP_RUNTIME_TRAIN_BATCHES_H
#define TPSP_RUNTIME_TRAIN_BATCHES_H

#include "tpsp/Runtime/Driver/Tensors/Shard.h"
#include "tpsp/Runtime/Train/TokenFiles.h"

namespace tpsp::train {

/// A sample is a window of length + 1 tokens. Consecutive windows of a file
/// share one token. Samples are numbered through all epochs: sample n is in
/// epoch n / samplesPerEpoch().
class Batches {
public:
  /// Whether the samples of an epoch are in the order of the files or shuffled
  /// (Shuffle.h).
  enum class Order { AsStored, Shuffled };

  /// Makes batches for the arguments of `plan`. INVALID if no argument is data,
  /// if arguments differ in their batch, or if the files have less than one
  /// sample.
  static rt::Status create(TokenFiles files, const Plan &plan, Order order,
                           uint64_t seed, Batches &out);

  /// Sequences of a batch, and tokens of each sequence.
  int64_t sequences() const { return rows; }
  int64_t length() const { return columns; }
  int64_t tokensPerBatch() const { return rows * columns; }
  int64_t samplesPerEpoch() const { return samples; }
  const TokenFiles &tokens() const { return files; }

  /// Writes a rank's part of the batch that begins with sample `first`, and
  /// reads only that part of the files. INVALID, with its place, for a token
  /// that is out of the argument's range. Thread-safe.
  rt::Status fill(const PlanBuffer &tensor, const rt::Shard &shard,
                  int64_t first, void *memory) const;

private:
  /// The first token of a sample's window.
  int64_t windowOf(int64_t sample) const;

  TokenFiles files;
  Order order = Order::Shuffled;
  uint64_t seed = 0;
  int64_t rows = 0, columns = 0, samples = 0;
};

} // namespace tpsp::train

#endif // TPSP_RUNTIME_TRAIN_BATCHES_H
