/// One entry of a map of names, and what it does to a tensor.
#ifndef TPSP_LIB_CHECK_NAMEENTRY_H
#define TPSP_LIB_CHECK_NAMEENTRY_H

#include "Form.h"

#include "tpsp/Check/Names.h"

#include <optional>

namespace tpsp::check {

/// A list of extents as they are written: numbers or texts of ExtentText.h.
using ExtentTexts = std::vector<std::string>;

/// A dimension that was padded before it was divided.
struct PaddedDimension {
  size_t dim = 0;
  /// Its extent without the padding.
  std::string extent;
  /// The mesh axes over which it is divided, major first.
  std::vector<std::string> axes;
};

struct NameMap::Entry {
  std::string pattern;
  bool isLeftOut = false;
  /// One name; several if the tensor is split, empty for a part that is left
  /// out.
  std::vector<std::string> names;
  /// Whether the ranks' parts are put together first, by their placement.
  bool isWhole = false;
  std::optional<PaddedDimension> padded;
  ExtentTexts unpad, shape, sizes, reshape;
  std::vector<size_t> permute;
  size_t splitDim = 0;

  /// All lists of extents.
  std::vector<const ExtentTexts *> lists() const {
    return {&unpad, &shape, &sizes, &reshape};
  }
};

/// Rearranges the tensors of one entry of a dump as an entry of the map says.
class Rearranger {
public:
  /// All must outlive this object.
  Rearranger(const NameMap::Entry &entry, const NamedExtents &program)
      : entry(entry), program(program) {}

  /// Makes `tensor` the part that belongs to name `number` of the entry. The
  /// failure is half a sentence about the tensor.
  rt::Status apply(size_t number, DumpEntry &tensor) const;

private:
  rt::Status putTogether(DumpEntry &tensor) const;
  rt::Status removePadding(DumpedTensor &tensor) const;
  rt::Status rearrange(size_t number, DumpedTensor &tensor) const;
  rt::Status unpad(DumpedTensor &tensor) const;
  rt::Status reshape(const ExtentTexts &texts, DumpedTensor &tensor) const;
  rt::Status permute(DumpedTensor &tensor) const;
  rt::Status split(size_t number, DumpedTensor &tensor) const;
  rt::Status rearrangePlacement(const Shape &before, DumpEntry &tensor) const;
  rt::Status evaluate(const ExtentTexts &texts, Shape &out) const;

  const NameMap::Entry &entry;
  const NamedExtents &program;
};

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_NAMEENTRY_H
