/// Reads batches for those arguments of a plan that are data: tokens
/// (PlanBuffer::data), and samples that files have by name.
#ifndef TPSP_RUNTIME_TRAIN_BATCHES_H
#define TPSP_RUNTIME_TRAIN_BATCHES_H

#include "tpsp/Runtime/Driver/Tensors/Shard.h"
#include "tpsp/Runtime/Train/SampleFiles.h"
#include "tpsp/Runtime/Train/TokenFiles.h"

#include <optional>

namespace tpsp::train {

/// The data that a run trains on. One of the two may be empty.
struct DataFiles {
  TokenFiles tokens;
  SampleFiles samples;
  /// The token with which a document ends, and which belongs to it. Its own
  /// target does not count: it would be the next document's first token.
  std::optional<int64_t> separator;

  /// Opens the operands of --data. `format` is that of files of tokens.
  static rt::Status open(const std::vector<std::string> &operands,
                         const std::string &format, DataFiles &out);
  /// The paths of all files that are read.
  std::vector<std::string> paths() const;
  /// A sentence if the separator is not among the first four million tokens,
  /// which are one document then; "" otherwise.
  std::string separatorWarning() const;
};

/// A sample of tokens is a window of length + 1 tokens. Consecutive windows of
/// a file share one token. An argument that files give by name has one tensor
/// for each sample. Samples are numbered through all epochs: sample n is in
/// epoch n / samplesPerEpoch().
class Batches {
public:
  /// Whether the samples of an epoch are in the order of the files or shuffled
  /// (Shuffle.h).
  enum class Order { AsStored, Shuffled };

  /// Makes batches for the arguments of `plan`. INVALID if no argument is data,
  /// if arguments or files differ in their batch or samples, or if the files
  /// have less than one sample.
  static rt::Status create(DataFiles files, const Plan &plan, Order order,
                           uint64_t seed, Batches &out);

  /// Whether every step sets the argument.
  bool gives(const PlanBuffer &tensor) const;

  /// Samples of a batch, and tokens of each. Without tokens, each sample counts
  /// as one.
  int64_t sequences() const { return rows; }
  int64_t length() const { return hasTokens ? columns : 1; }
  int64_t tokensPerBatch() const { return rows * length(); }
  int64_t samplesPerEpoch() const { return samples; }
  /// All tokens, or without tokens all samples; and the word for one.
  int64_t size() const { return hasTokens ? files.tokens.size() : samples; }
  const char *unit() const { return hasTokens ? "token" : "sample"; }

  /// Writes a rank's part of the batch that begins with sample `first`, and
  /// reads only that part of the files. INVALID, with its place, for a token
  /// that is out of the argument's range. Thread-safe.
  rt::Status fill(const PlanBuffer &tensor, const rt::Shard &shard,
                  int64_t first, void *memory) const;

private:
  rt::Status addShape(const PlanBuffer &tensor, const PlanBuffer *&first);
  rt::Status countSamples();
  /// The place of a sample among those of its epoch.
  int64_t placeOf(int64_t sample) const;
  rt::Status fillTokens(const PlanBuffer &tensor, const rt::Shard &shard,
                        int64_t first, void *memory) const;
  rt::Status checkSeparator(const Plan &plan) const;

  DataFiles files;
  Order order = Order::Shuffled;
  uint64_t seed = 0;
  /// `columns` is 0 if no argument has positions of a sequence.
  int64_t rows = 0, columns = 0, samples = 0;
  /// Whether an argument is made of the files of tokens.
  bool hasTokens = false;
};

} // namespace tpsp::train

#endif // TPSP_RUNTIME_TRAIN_BATCHES_H
