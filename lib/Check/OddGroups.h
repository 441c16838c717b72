/// Sums over groups of ranks that are no groups of the mesh.
///
/// On the mesh <tp = 4>, let an all_reduce be over {0, 1} and {2, 3}, and the
/// next one over {0, 2} and {1, 3}. Together they are one over tp. The first
/// alone adds up a part of the ranks.
#ifndef TPSP_LIB_CHECK_ODDGROUPS_H
#define TPSP_LIB_CHECK_ODDGROUPS_H

#include "Matching.h"

namespace tpsp::check {

/// Replaces all_reduces over odd groups that together are one over axes of the
/// mesh, on all ranks, by this one. Needs the recordings of all ranks,
/// ascending; with fewer it changes nothing.
void joinOddGroups(const rt::RankMesh &mesh, std::vector<Recording> &recordings,
                   TraceReport &report);

/// The axes whose groups have these ranks, ascending, if there are any.
std::optional<Axes> axesOfRanks(const rt::RankMesh &mesh, int64_t rank,
                                const std::vector<int64_t> &ranks);

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_ODDGROUPS_H
