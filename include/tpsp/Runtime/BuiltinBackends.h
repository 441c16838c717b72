/// Registers the backends that are part of every build (link
/// TpspRuntimeBackends). Registration is explicit because a static library's
/// initialisers run only if something else in their object file is used.
#ifndef TPSP_RUNTIME_BUILTINBACKENDS_H
#define TPSP_RUNTIME_BUILTINBACKENDS_H

namespace tpsp::rt {

/// "cpu": oneDNN and shared memory between the threads of this process.
void registerCpuBackend();

/// "trace": computes nothing and prints one line for each call.
void registerTraceBackend();

/// Registers both. May be called more than once.
inline void registerBuiltinBackends() {
  registerCpuBackend();
  registerTraceBackend();
}

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_BUILTINBACKENDS_H
