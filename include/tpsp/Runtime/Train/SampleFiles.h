/// Files of samples, memory-mapped: data of arguments that are no stream of
/// tokens. The first index of a tensor in such a file numbers samples. The
/// others are those of the argument after its own first.
///
///   SampleFiles files;
///   if (Status s = SampleFiles::open({"images=train.npy"}, files); !s.ok())
///     return s;
#ifndef TPSP_RUNTIME_TRAIN_SAMPLEFILES_H
#define TPSP_RUNTIME_TRAIN_SAMPLEFILES_H

#include "tpsp/Runtime/Driver/Tensors/Shard.h"
#include "tpsp/Runtime/Train/TokenFiles.h"

#include <functional>
#include <map>
#include <memory>

namespace tpsp::train {

/// How elements of a file become elements of a tensor.
struct SampleType;

/// A tensor of a file. Its elements begin at the file's byte `begin`.
struct StoredSamples {
  std::shared_ptr<const MappedFile> file;
  std::string path;
  /// Null for a type that cannot be read, which is called `typeName`.
  const SampleType *type = nullptr;
  std::string typeName;
  std::vector<int64_t> shape;
  int64_t begin = 0;

  /// The elements of one sample.
  int64_t perSample() const;
};

class SampleFiles {
public:
  /// Whether an operand of --data gives arguments by name: "images=F.npy" or a
  /// safetensors file, whose tensors have the arguments' names.
  static bool isNamed(const std::string &operand);

  /// Opens the files. INVALID, with the file's name, if one is not of its
  /// format, if a name is given twice, or if files differ in their samples.
  static rt::Status open(const std::vector<std::string> &operands,
                         SampleFiles &out);

  /// Checks the files against the arguments of `plan`. INVALID, with a way out,
  /// if it does not take a tensor, or if its shape or its type does not fit.
  rt::Status check(const Plan &plan) const;

  bool has(const std::string &argument) const {
    return tensors.count(argument) > 0;
  }
  bool isEmpty() const { return tensors.empty(); }
  /// The number of samples.
  int64_t size() const { return samples; }
  /// The paths of all files, in the order of opening.
  const std::vector<std::string> &paths() const { return opened; }

  /// Writes a rank's part of an argument. Row i of the whole argument is the
  /// sample sampleOf(i). INVALID, with its place, for an integer that is out of
  /// the argument's range. Thread-safe.
  rt::Status fill(const PlanBuffer &tensor, const rt::Shard &shard,
                  const std::function<int64_t(int64_t)> &sampleOf,
                  void *memory) const;

private:
  rt::Status openNpy(const std::string &path, const std::string &name);
  rt::Status openSafetensors(const std::string &path);
  rt::Status add(const std::string &name, StoredSamples stored);

  std::map<std::string, StoredSamples> tensors;
  std::vector<std::string> opened;
  int64_t samples = 0;
};

} // namespace tpsp::train

#endif // TPSP_RUNTIME_TRAIN_SAMPLEFILES_H
