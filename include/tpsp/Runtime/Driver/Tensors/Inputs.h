/// Reads any arguments of a program from files: safetensors, an index of
/// safetensors files, or .npy. See docs/Inputs.md.
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

/// An operand of --inputs: "F.safetensors", "ids.npy" or "ids=F.npy".
struct InputsFile {
  std::string path;
  /// The name of the one argument that the file gives; empty if the file has
  /// names.
  std::string name;
};

InputsFile parseInputsFile(const std::string &text);

/// Takes arguments from files, converted if their types differ, and all others
/// from another source.
class InputsSource final : public TensorSource {
public:
  /// Opens the files and checks them against the program's arguments. It is an
  /// error if a tensor is unknown to the program, is given twice, or has
  /// another shape. It is an error if its type does not convert, or if an
  /// integer is out of range.
  Status open(const std::vector<std::string> &files, const Plan &plan);
  /// Lets files give tensors of these names, which this program lacks: another
  /// form of it takes them. To be called before files are opened.
  void leaveOut(std::set<std::string> names) { leftOut = std::move(names); }
  /// Opens one more file, with the same errors.
  Status openFile(const InputsFile &file, const Plan &plan);

  /// The paths of all files read, in the order of opening.
  const std::vector<std::string> &paths() const { return opened; }
  /// The names of the arguments that the files give.
  std::set<std::string> given() const;
  /// Sets the source of all other arguments. To be called before values are
  /// asked for.
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
    /// TPSP_RT_F32, ...; or -1 for a type that cannot be read, whose name is in
    /// typeName.
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
  std::set<std::string> leftOut;
  StoredTensors tensors;
  std::unique_ptr<TensorSource> others;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_TENSORS_INPUTS_H
