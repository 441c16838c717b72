/// Arguments of a program, whichever they are, from files: safetensors, an
/// index of such, or .npy. See docs/Inputs.md.
#ifndef TPSP_RUNTIME_DRIVER_TENSORS_INPUTS_H
#define TPSP_RUNTIME_DRIVER_TENSORS_INPUTS_H

#include "tpsp/Runtime/Driver/Tensors/TensorSource.h"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace tpsp::rt {

/// What --inputs was given: "F.safetensors", "ids.npy" or "ids=F.npy".
struct InputsFile {
  std::string path;
  /// The name of the one argument that it gives; empty if the file says.
  std::string name;
};

InputsFile parseInputsFile(const std::string &text);

/// Arguments from files, converted if their types differ; others from another
/// source.
class InputsSource final : public TensorSource {
public:
  /// Opens the files and holds them against the program's arguments. Errors are
  /// tensors that the program does not take, or that are given twice. So are
  /// another shape, a type that does not convert, and integers out of range.
  Status open(const std::vector<std::string> &files, const Plan &plan);
  /// The same of one file more.
  Status openFile(const InputsFile &file, const Plan &plan);

  /// The paths of all files that are read, in the order in which they were
  /// opened.
  const std::vector<std::string> &paths() const { return opened; }
  /// The names of the arguments that the files give.
  std::set<std::string> given() const;
  /// Where all other arguments come from. To be called before values are asked
  /// for.
  void setOthers(std::unique_ptr<TensorSource> source) {
    others = std::move(source);
  }

  Status fill(const PlanBuffer &tensor, const Shard &shard,
              void *memory) const override;
  Status whole(const PlanBuffer &tensor,
               std::vector<double> &out) const override;
  bool isGiven(const PlanBuffer &tensor) const override;

private:
  /// A tensor in a file.
  struct Stored {
    std::string path;
    /// TPSP_RT_F32, ..., or -1, with its name, for what is not read.
    int64_t dtype = -1;
    std::string typeName;
    std::vector<int64_t> shape;
    /// Reads the bytes [begin, begin + bytes). Thread-safe.
    std::function<Status(int64_t begin, int64_t bytes, void *destination)> read;
  };
  using StoredTensors = std::map<std::string, Stored>;

  Status readFile(const InputsFile &file, StoredTensors &out);
  Status openNpy(const InputsFile &file, StoredTensors &out);
  static std::string differenceOf(const PlanBuffer &wanted,
                                  const Stored &stored);
  static Status checkIntegers(const PlanBuffer &wanted, const Stored &stored);
  Status add(const std::string &path, StoredTensors found, const Plan &plan);

  template <typename Visit>
  static Status readBlocks(const Stored &stored, int64_t begin, int64_t count,
                           Visit visit);

  std::vector<std::string> opened;
  StoredTensors tensors;
  std::unique_ptr<TensorSource> others;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_TENSORS_INPUTS_H
