#!/bin/bash
# After a training, as the user: in the job script, or srun --epilog=epilog.sh.
# Keeps the verdict as verdict-JOB.json, and sends it to TOPIC when a run is bad or crashed.
RUNS=${RUNS:-runs}

if [ -f "verdicts-$SLURM_JOB_ID.pid" ]; then
    kill "$(cat "verdicts-$SLURM_JOB_ID.pid")" 2> /dev/null
    rm "verdicts-$SLURM_JOB_ID.pid"
fi
timeout 60 rltui check "$RUNS" --json > "verdict-$SLURM_JOB_ID.json"
if [ $? -eq 1 ] && [ -n "${TOPIC:-}" ]; then
    {
        timeout 60 rltui check "$RUNS" --format line # the worst run: the text may be cut
        timeout 60 rltui check "$RUNS"
    } | head -c 2000 |
        curl --silent --show-error --max-time 10 --data-binary @- "$TOPIC"
fi
exit 0
