/// A CPU world whose ranks are threads of this process and exchange messages,
/// as processes do. It tests MessageCollectives on every mesh. The MPI
/// transport has tests of its own, under mpirun.
#ifndef TPSP_TEST_CONFORMANCE_MAILBOXBACKEND_H
#define TPSP_TEST_CONFORMANCE_MAILBOXBACKEND_H

namespace tpsp::rt::conformance {

/// Registers the backend as "messages".
void registerMailboxBackend();

} // namespace tpsp::rt::conformance

#endif // TPSP_TEST_CONFORMANCE_MAILBOXBACKEND_H
