// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Runs a program and kills it at the Nth stop of the threads that act: each system call of theirs is a stop before it
 * and one after it. So it dies between any two steps of an action, with nothing built into it for that.
 *
 *   killer N PROGRAM ARGUMENT...     prints "killed at N, before|after system call NR in NAME", or "ended after N stops"
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS_MAX 4096
/* A thread has its name after a few system calls; one that is none of ours by then is left alone. */
#define STOPS_UNTIL_NAMED 60

enum role { UNKNOWN, ACTS, OTHER };

static struct thread {
	pid_t tid;
	enum role role;
	int stops;
} threads[THREADS_MAX];
static int thread_count;

static struct thread *thread_of(pid_t tid)
{
	for (int i = 0; i < thread_count; i++)
		if (threads[i].tid == tid)
			return &threads[i];
	if (thread_count == THREADS_MAX) {
		fprintf(stderr, "killer: more than %d threads\n", THREADS_MAX);
		exit(2);
	}
	threads[thread_count] = (struct thread){ .tid = tid };
	return &threads[thread_count++];
}

static void name_of(pid_t tid, char *name, int len)
{
	char path[64];
	FILE *file;

	*name = 0;
	snprintf(path, sizeof(path), "/proc/%d/comm", tid);
	file = fopen(path, "r");
	if (!file)
		return;
	if (fgets(name, len, file))
		name[strcspn(name, "\n")] = 0;
	fclose(file);
}

static void learn_role(struct thread *thread)
{
	char name[32];

	if (thread->role != UNKNOWN)
		return;
	name_of(thread->tid, name, sizeof(name));
	if (!strncmp(name, "act-", 4))
		thread->role = ACTS;
	else if (++thread->stops > STOPS_UNTIL_NAMED)
		thread->role = OTHER;
}

static void tell_death(pid_t tid, long stops)
{
	struct __ptrace_syscall_info info = { 0 };
	char name[32];

	name_of(tid, name, sizeof(name));
	ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info);
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
		printf("killed at %ld, before system call %llu in %s\n", stops,
		       (unsigned long long)info.entry.nr, name);
	else
		printf("killed at %ld, after a system call in %s\n", stops, name);
}

int main(int argc, char **argv)
{
	long deadline, stops = 0;
	pid_t program;
	int status;

	if (argc < 3 || (deadline = atol(argv[1])) <= 0)
		return 2;
	program = fork();
	if (program == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execv(argv[2], argv + 2);
		_exit(127);
	}
	waitpid(program, &status, 0);
	ptrace(PTRACE_SETOPTIONS, program, 0, PTRACE_O_TRACECLONE | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	thread_of(program)->role = OTHER;
	ptrace(PTRACE_CONT, program, 0, 0);
	for (;;) {
		pid_t tid = waitpid(-1, &status, __WALL);
		struct thread *thread;
		int signal = 0;

		if (tid < 0)
			break;
		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			if (tid == program)
				break;
			continue;
		}
		thread = thread_of(tid);
		if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
			learn_role(thread);
			if (thread->role == ACTS && ++stops == deadline) {
				tell_death(tid, stops);
				kill(program, SIGKILL);
				while (waitpid(-1, &status, __WALL) > 0)
					;
				return 0;
			}
		} else if (WSTOPSIG(status) != SIGTRAP && WSTOPSIG(status) != SIGSTOP) {
			signal = WSTOPSIG(status);
		}
		ptrace(thread->role == OTHER ? PTRACE_CONT : PTRACE_SYSCALL, tid, 0, signal);
	}
	printf("ended after %ld stops\n", stops);
	return 0;
}
