"""Takes from Python what Windows lacks; a kit that starts with this folder on PYTHONPATH plays without it."""
import os
import signal
import sys

MODULES = "fcntl grp pty pwd resource syslog termios tty"
OF_OS = "O_CLOEXEC O_DIRECTORY O_NOFOLLOW chown fchown fork forkpty getegid geteuid getgid getpgid getuid mkfifo setsid uname"
OF_SIGNAL = "SIGALRM SIGCHLD SIGHUP SIGKILL SIGPIPE SIGQUIT SIGUSR1 SIGUSR2 alarm pause pthread_kill setitimer sigwait"

for name in MODULES.split():
    sys.modules[name] = None  # an import fails
for module, names in ((os, OF_OS), (signal, OF_SIGNAL)):
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
