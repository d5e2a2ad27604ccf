"""Hyperparameters in files beside the logs."""

import os
from pathlib import Path

from rltui.sources.side_files.settings_files import read_environment, read_settings
from tests.tables import cases


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@cases(__file__, "each_writer")
def test_each_writer(tmp_path: Path, name: str, text: str, found: object, times: int) -> None:
    write(tmp_path / name, text * times)
    settings = read_settings([tmp_path])
    assert settings.values == found
    assert settings.files == ((Path(name).name,) if found else ())


def test_a_number_longer_than_python_prints_is_cut(tmp_path: Path) -> None:
    write(tmp_path / "args.yaml", f"seed: 0x{'f' * 6000}")
    assert read_settings([tmp_path]).values == {"seed": "0x" + "f" * 998}


def test_the_directory_of_the_run_wins(tmp_path: Path) -> None:
    write(tmp_path / "config.yaml", "lr: 1\nseed: 2\n")
    write(tmp_path / "run" / "config.yaml", "lr: 3\n")
    assert read_settings([tmp_path, tmp_path / "run"]).values == {"lr": 3, "seed": 2}


def test_what_is_too_large_a_pipe_or_gone_is_left_out(tmp_path: Path) -> None:
    write(tmp_path / "params.json", '{"a": "' + "x" * 300_000 + '"}')
    os.mkfifo(tmp_path / "config.yaml")
    assert read_settings([tmp_path, tmp_path / "nowhere"]).values == {}


def test_names_and_values_are_cleaned(tmp_path: Path) -> None:
    write(tmp_path / "args.json", '{"a\\u001b[2J": "\\u001b]0;x\\u0007"}')
    ((name, value),) = read_settings([tmp_path]).values.items()
    assert name.isprintable()
    assert str(value).isprintable()


def test_what_trackers_record_of_the_machine(tmp_path: Path) -> None:
    text = '{"runtime": {"hostname": "node-7", "pid": 3, "command": "x"}, "git": {"commit": null}}'
    write(tmp_path / "files" / "swanlab-metadata.json", text)
    write(tmp_path / "wandb-metadata.json", '{"gpu_count": 8, "email": "me@a.example"}')
    assert read_environment([tmp_path]) == {"host": "node-7", "GPUs": 8}
    write(tmp_path / "wandb-metadata.json", "[1")
    assert read_environment([tmp_path, tmp_path / "gone"]) == {"host": "node-7"}
