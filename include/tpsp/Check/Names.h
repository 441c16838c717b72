/// A map from a dump's names and layouts to a program's, as JSON:
///
///   {
///     "$source": "where the names and layouts are from",
///     "model.layers.*.mlp.up_proj.weight": "layers.*.up",
///     "lm_head.weight": {"name": "head", "permute": [1, 0]},
///     "decoder.layers.*.self_attention.linear_qkv.weight":
///       {"shape": [-1, "r + 2", "k", "d"],
///        "split": {"dim": 1, "sizes": ["r", 1, 1],
///                  "names": ["layers.*.wq", "layers.*.wk", "layers.*.wv"]}},
///     "embedding.word_embeddings.weight":
///       {"name": "table", "padded": {"dim": 0, "extent": "v",
///                                    "axes": ["tp"]}},
///     "wte.weight": {"name": "table", "unpad": [50257, 768]},
///     "*.rotary.inv_freq": null
///   }
///
/// A key is a name without grad: and the like, and a `*` in it stands for any
/// text without a dot. The same text stands for the `*` of the value. An entry
/// of null leaves tensors out. A number may be a text with +, -, * and / over
/// numbers and indices of the program, whose extents they are.
///
/// `whole` puts the ranks' parts together by the dump's placement, and `padded`
/// by the axes that it names; then it removes the padding. The other parts of
/// an entry are of what a rank then has. They are applied in the order unpad,
/// shape, permute, split, reshape.
#ifndef TPSP_CHECK_NAMES_H
#define TPSP_CHECK_NAMES_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Check/Dump.h"

#include <memory>
#include <string>
#include <vector>

namespace tpsp::check {

/// The facts of a program that maps of names refer to.
struct NamedExtents {
  /// The extents of the program's indices, by name.
  std::map<std::string, int64_t> indices;
  /// Major first.
  std::vector<MeshAxis> mesh;
};

/// The indices of a plan's arguments and results, and its mesh.
NamedExtents namedExtentsOf(const Plan &plan);

class NameMap {
public:
  NameMap();
  NameMap(NameMap &&) noexcept;
  NameMap &operator=(NameMap &&) noexcept;
  ~NameMap();

  /// Reads a file. INVALID, with the key, if an entry is something else.
  static rt::Status read(const std::string &path, NameMap &out);
  /// Whether an entry refers to a program's extents or mesh.
  bool needsProgram() const;
  /// The names that a tensor of the dump gets; empty if it is left out.
  std::vector<std::string> namesFor(const std::string &name) const;
  /// Renames and rearranges the tensors of a dump. Names without an entry stay.
  /// INVALID if a tensor does not fit its entry, if two get one name, or if the
  /// program lacks an index.
  rt::Status apply(const NamedExtents &program, Dump &dump) const;

  struct Entry;

private:
  /// The first entry for a name, and the texts of its stars; null if there is
  /// none.
  const Entry *find(const std::string &name,
                    std::vector<std::string> &stars) const;

  std::vector<Entry> entries;
};

} // namespace tpsp::check

#endif // TPSP_CHECK_NAMES_H
