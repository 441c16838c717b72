/// The part of a report about a verification, as text.
#ifndef TPSP_RUNTIME_DRIVER_REPORT_VERIFICATIONTEXT_H
#define TPSP_RUNTIME_DRIVER_REPORT_VERIFICATIONTEXT_H

#include "tpsp/Runtime/Driver/Report/Report.h"

namespace tpsp::rt {

/// A row for each compared tensor, and the verdict; empty if no tensor was
/// compared.
std::string verificationTable(const RunReport &report);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_REPORT_VERIFICATIONTEXT_H
