/// Extents that are written with the names of a program's indices: "r + 2".
#ifndef TPSP_LIB_CHECK_EXTENTTEXT_H
#define TPSP_LIB_CHECK_EXTENTTEXT_H

#include "tpsp/Abi/Status.h"

#include <map>
#include <string>

namespace tpsp::check {

/// Evaluates numbers and names with + - * / and no brackets; * and / bind
/// closer. INVALID, with half a sentence, if a name is unknown, if a division
/// has a remainder, or if the text is something else.
rt::Status evaluateExtent(const std::string &text,
                          const std::map<std::string, int64_t> &extents,
                          int64_t &out);

/// Whether a text has a name in it.
bool hasName(const std::string &text);

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_EXTENTTEXT_H
