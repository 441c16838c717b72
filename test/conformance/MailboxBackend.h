/// A CPU world whose ranks are threads of this process and exchange messages,
/// as processes do: it holds MessageCollectives to the contract on every mesh.
/// (The MPI transport has tests of its own, under mpirun.)
#ifndef TPSP_TEST_CONFORMANCE_MAILBOXBACKEND_H
#define TPSP_TEST_CONFORMANCE_MAILBOXBACKEND_H

namespace tpsp::rt::conformance {

/// Registers it as "messages".
void registerMailboxBackend();

} // namespace tpsp::rt::conformance

#endif // TPSP_TEST_CONFORMANCE_MAILBOXBACKEND_H
