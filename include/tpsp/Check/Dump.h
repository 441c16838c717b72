/// A dump of somebody's run: a folder with a safetensors file for each rank,
///
///   DIR/rank0.safetensors, DIR/rank1.safetensors, ...
///
/// whose tensors have the names `grad:NAME`, `param:NAME` (before the update),
/// `updated:NAME`, `act:NAME`, `cot:NAME` (the gradient of an activation),
/// `loss` and `norm`. A name without such a word is a gradient's. docs/Check.md
/// has the metadata.
#ifndef TPSP_CHECK_DUMP_H
#define TPSP_CHECK_DUMP_H

#include "tpsp/Abi/EnumNames.h"
#include "tpsp/Abi/MeshAxis.h"
#include "tpsp/Abi/Status.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tpsp::check {

/// The kinds of dumped tensors.
enum class DumpRole {
  Gradient,
  Parameter,
  Updated,
  Activation,
  Cotangent,
  Loss,
  Norm
};

} // namespace tpsp::check

namespace tpsp {
/// The words before the colon; `loss` and `norm` stand alone.
template <> struct EnumNames<check::DumpRole> {
  static constexpr const char *all[] = {"grad", "param", "updated", "act",
                                        "cot",  "loss",  "norm"};
};
} // namespace tpsp

namespace tpsp::check {

struct DumpedTensor {
  /// TPSP_RT_F32, ...
  int64_t dtype = 0;
  std::vector<int64_t> shape;
  /// Row-major.
  std::vector<double> values;
  /// The file's bytes, until decode() makes values of them.
  std::vector<char> bytes = {};

  void decode();
};

/// One tensor of all ranks.
struct DumpEntry {
  DumpRole role = DumpRole::Gradient;
  /// The name without the word for the role; empty for loss and norm.
  std::string name;
  /// By rank; empty where a rank's file lacks it.
  std::vector<std::optional<DumpedTensor>> ranks;
  /// Whether it was taken as the program's argument, and its values freed.
  bool isTaken = false;
  /// In torch's words, by mesh axis: "Replicate", "Shard(0)", "Partial".
  std::map<std::string, std::string> placement;

  /// "grad:w1", "loss".
  std::string title() const;
};

struct Dump {
  /// The folder, for messages.
  std::string path;
  int64_t numRanks = 0;
  /// The mesh of the metadata, major first; empty if there is none.
  std::vector<MeshAxis> mesh;
  /// In the order of their roles and names. Ranks are row-major over `mesh`.
  std::vector<DumpEntry> entries;
};

/// The part of a dump that is read.
struct DumpReading {
  /// Whether a tensor of this title is read; null: every one is.
  std::function<bool(DumpRole, const std::string &name)> keeps;
  /// Without them, tensors have their types and shapes alone.
  bool withValues = true;
  /// Whether gradients and new parameters stay bytes, which are smaller.
  bool keepsBytes = false;
};

/// Reads a folder. INVALID, with a way out, if a file is missing, cut or
/// contradicts another one, or if there is no tensor. INVALID, with the bytes,
/// if there is less memory than the values take.
rt::Status readDump(const std::string &path, Dump &out,
                    const DumpReading &reading = {});

/// Reads "dp=2,tp=3". False if the text is something else.
bool parseMesh(const std::string &text, std::vector<MeshAxis> &out);

/// The role and name of "grad:w1". A word that is no role belongs to the name.
void parseTitle(const std::string &title, DumpRole &role, std::string &name);

} // namespace tpsp::check

#endif // TPSP_CHECK_DUMP_H
