/// What a report says of a verification, for people.
#ifndef TPSP_RUNTIME_DRIVER_REPORT_VERIFICATIONTEXT_H
#define TPSP_RUNTIME_DRIVER_REPORT_VERIFICATIONTEXT_H

#include "tpsp/Runtime/Driver/Report/Report.h"

namespace tpsp::rt {

/// A row for each tensor that was compared, and the verdict; empty if none was.
std::string verificationTable(const RunReport &report);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_REPORT_VERIFICATIONTEXT_H
