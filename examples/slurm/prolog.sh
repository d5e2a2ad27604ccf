#!/bin/bash
# Before a training, as the user: in the job script, or srun --prolog=prolog.sh.
# Exits with 1 where an earlier attempt of this job is already bad, so that a requeued job does not
# go on from NaN; else reports every change of the verdict until epilog.sh.
set -u
RUNS=${RUNS:-runs}
mkdir -p "$RUNS"

if [ "${SLURM_RESTART_COUNT:-0}" -gt 0 ]; then
    timeout 120 rltui check "$RUNS"
    if [ $? -eq 1 ]; then
        echo "prolog: not started again" >&2
        exit 1
    fi
fi
nohup rltui check --follow "$RUNS" > "verdicts-$SLURM_JOB_ID.log" 2>&1 < /dev/null &
echo $! > "verdicts-$SLURM_JOB_ID.pid"
