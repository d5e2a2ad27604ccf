#!/bin/bash
#SBATCH --job-name=grpo
#SBATCH --output=job-%j.out
#SBATCH --signal=B:TERM@120
# A training with a verdict before, while and after it runs: sbatch examples/slurm/job.sh
# TRAIN is the training, RUNS its log directory, TOPIC where the message goes (empty: none).
set -eu
export RUNS=${RUNS:-runs} TOPIC=${TOPIC:-}
here=${SLURM_SUBMIT_DIR:-$PWD}/examples/slurm # sbatch runs a copy of this file

bash "$here/prolog.sh"
trap 'bash "$here/epilog.sh"' EXIT

# two minutes before the time limit, which may also come while the training starts
trap 'kill $(jobs -p) && wait || true; exit 143' TERM
srun ${TRAIN:-python train.py} &
wait "$!"
