/// A map from a dump's names to a program's, as JSON:
///
///   {
///     "model.layers.*.mlp.up_proj.weight": "layers.*.up",
///     "lm_head.weight": {"name": "head", "permute": [1, 0]},
///     "model.layers.*.attn.qkv.weight":
///       {"split": {"dim": 0, "names": ["layers.*.wq", "layers.*.wk"],
///                  "sizes": [64, 16]}},
///     "wte.weight": {"name": "table", "unpad": [50257, 768]},
///     "h.*.attn.wo": {"name": "layers.*.wo", "shape": [64, 8, 8]},
///     "*.rotary.inv_freq": null
///   }
///
/// A key is a name without grad: and the like, and a `*` in it stands for any
/// text without a dot. The same text stands for the `*` of the value. An entry
/// of null leaves tensors out. The parts of one entry are applied in the order
/// unpad, shape, permute, split. Each is of a rank's own tensor.
#ifndef TPSP_CHECK_NAMES_H
#define TPSP_CHECK_NAMES_H

#include "tpsp/Check/Dump.h"

#include <memory>
#include <string>
#include <vector>

namespace tpsp::check {

class NameMap {
public:
  NameMap();
  NameMap(NameMap &&) noexcept;
  NameMap &operator=(NameMap &&) noexcept;
  ~NameMap();

  /// Reads a file. INVALID, with the key, if an entry is something else.
  static rt::Status read(const std::string &path, NameMap &out);
  /// Renames and rearranges the tensors of a dump. Names without an entry stay.
  /// INVALID if a tensor does not fit its entry, or two get one name.
  rt::Status apply(Dump &dump) const;

private:
  struct Entry;
  std::vector<Entry> entries;
};

} // namespace tpsp::check

#endif // TPSP_CHECK_NAMES_H
