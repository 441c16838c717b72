/// Loads the transport of the launcher that started this process.
#ifndef TPSP_RUNTIME_TRANSPORTPLUGIN_H
#define TPSP_RUNTIME_TRANSPORTPLUGIN_H

#include "tpsp/Runtime/Transport.h"

namespace tpsp::rt {

/// The function that a transport's shared object exports, with C linkage, under
/// the name transportEntryName. It joins the other processes. Returns null, and
/// a sentence in `error`, if that is impossible. Called once. The object owns
/// the transport.
using TransportEntry = Transport *(*)(int version, std::string &error);
constexpr const char *transportEntryName = "tpsp_open_transport";

/// Raised whenever Transport.h changes.
constexpr int transportVersion = 1;

/// Whether a launcher (mpirun) started this process.
bool isUnderLauncher();

/// Loads libtpsp_mpi.so from the executable's folder, or from lib/ next to that
/// folder, and joins the other processes. UNSUPPORTED if the object is missing
/// or does not fit.
Status openTransport(Transport *&out);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_TRANSPORTPLUGIN_H
