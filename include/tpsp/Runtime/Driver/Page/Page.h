/// Shows what was planned, predicted or measured as a page for browsers: one
/// file that loads nothing else. It has the matrix of plans, the picture of a
/// step, its memory, its equations and its ledger.
///
/// The page is a template (lib/Runtime/Driver/Page) that is embedded in this
/// library. It draws the JSON that is inserted into it; docs/Planner.md lists
/// the keys.
#ifndef TPSP_RUNTIME_DRIVER_PAGE_PAGE_H
#define TPSP_RUNTIME_DRIVER_PAGE_PAGE_H

#include "tpsp/Abi/StepTrace.h"

#include <string>
#include <vector>

namespace tpsp::rt {

/// A step that the page shows.
struct PageStep {
  /// The step's report as `tpsp-run --report` writes it: JSON text.
  std::string report;
  /// If the trace has no ranks, the page shows no picture of the step.
  StepTrace trace;
  /// The output of `tpsp-opt --tpsp-explain` for it; may be empty.
  std::string explanation;
  /// The step's position among the matrix's plans; -1 if there is no matrix.
  int64_t plan = -1;
};

/// Makes the page, which is well-formed whatever bytes names contain. `matrix`
/// is the output of `tpsp-plan --json`, or "". For long steps the page has only
/// the longest commands, and for long lists only the first rows; it says so.
std::string toPage(const std::string &matrix,
                   const std::vector<PageStep> &steps);

/// Replaces the marker TPSP_PAGE_DATA in `page` by `json`. The text is escaped
/// so that it cannot end the element that holds it.
std::string fillPage(const std::string &page, const std::string &json);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_PAGE_PAGE_H
