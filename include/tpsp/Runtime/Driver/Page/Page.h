/// What was planned, predicted or measured, as a page for browsers. It is one
/// file that fetches nothing. It has the matrix, the picture of a step, its
/// memory, its equations and its ledger.
///
/// The page is a template (lib/Runtime/Driver/Page), which is part of this
/// library. It draws what the JSON has that stands in it; docs/Planner.md has
/// its keys.
#ifndef TPSP_RUNTIME_DRIVER_PAGE_PAGE_H
#define TPSP_RUNTIME_DRIVER_PAGE_PAGE_H

#include "tpsp/Abi/StepTrace.h"

#include <string>
#include <vector>

namespace tpsp::rt {

/// A step that the page shows.
struct PageStep {
  /// What `tpsp-run --report` writes of it: JSON text.
  std::string report;
  /// Without ranks the page has no picture of it.
  StepTrace trace;
  /// What `tpsp-opt --tpsp-explain` prints of it; may be empty.
  std::string explanation;
  /// Its position among the matrix's plans; -1 if there is no matrix.
  int64_t plan = -1;
};

/// The page, well-formed whatever bytes names are made of. `matrix` is what
/// `tpsp-plan --json` prints, or "". Of long steps only the longest commands
/// are in it, and of long lists the first rows. The page says so.
std::string toPage(const std::string &matrix,
                   const std::vector<PageStep> &steps);

/// `page` with `json` for its marker, TPSP_PAGE_DATA. Nothing in `json` ends
/// the element that holds it.
std::string fillPage(const std::string &page, const std::string &json);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_PAGE_PAGE_H
