/// Loading the transport of the launcher that started this process.
#ifndef TPSP_RUNTIME_TRANSPORTPLUGIN_H
#define TPSP_RUNTIME_TRANSPORTPLUGIN_H

#include "tpsp/Runtime/Transport.h"

namespace tpsp::rt {

/// What a transport's shared object exports, with C linkage, under the name
/// transportEntryName: joins the other processes. Null, and a sentence in
/// `error`, if that cannot be. Called once. The object owns the transport.
using TransportEntry = Transport *(*)(int version, std::string &error);
constexpr const char *transportEntryName = "tpsp_open_transport";

/// Raised whenever Transport.h changes.
constexpr int transportVersion = 1;

/// Whether a launcher (mpirun) started this process.
bool isUnderLauncher();

/// Loads libtpsp_mpi.so from beside this executable (its folder, or lib/ next
/// to that) and joins the other processes. UNSUPPORTED if the object is not
/// there or does not fit.
Status openTransport(Transport *&out);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_TRANSPORTPLUGIN_H
