// The shell programs that the plain path runs inside a sandbox. Each is one constant, run as `/bin/sh -c SCRIPT sh
// ARG...`: arguments never become part of a script's text.
//
// They hold to POSIX sh and to options that busybox, GNU coreutils and toybox share. What the guest does to these
// programs, their files or their output can only mislead the caller about the guest's own sandbox.
#ifndef OSBX_DOCKER_GUEST_SCRIPTS_H_
#define OSBX_DOCKER_GUEST_SCRIPTS_H_

namespace osbx::docker {

// The environment variable that marks every process of one command, for KillTreeScript.
constexpr char kExecMarkerVariable[] = "OSBX_EXEC";

// PID 1. Says "ready", or what the image lacks and exits; then reaps orphans until TERM ends it at once.
extern const char kInitScript[];
constexpr char kInitReady[] = "osbx: ready\n";
constexpr char kInitRefused[] = "osbx: refused: ";  // the reason follows, and a line feed

// Arguments: the marker ("OSBX_EXEC=..."), the command's age in clock ticks. Kills every process of that command's tree
// and prints kTreeEnded when none is left. Shell builtins only: at the process limit nothing can fork.
extern const char kKillTreeScript[];
constexpr char kTreeEnded[] = "osbx: tree ended\n";

// Arguments: path, random token of 32 characters, mode (octal: set it with chmod; "keep": the old file's, if there is
// one; "": what the umask gives), umask in octal, size in bytes or "" when it is not known beforehand.
// Standard input is the content; when the size is not known, a commit record follows it: the token and the content's
// size in 20 decimal digits. The file appears under its name only after all of that was seen: an end of input alone
// proves nothing, since the engine gives the guest a clean one when its client dies.
extern const char kPutFileScript[];

// Argument: path. Writes the file to standard output.
extern const char kGetFileScript[];

// What a file script's exit code means; anything else is read from standard error.
enum FileExit { kFileIsDirectory = 102, kFileNotRegular = 103, kFileIncomplete = 104 };

}  // namespace osbx::docker

#endif  // OSBX_DOCKER_GUEST_SCRIPTS_H_
