"""`permanode proof check`: its output and its exit codes."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cli import main as cli
from tests.cli.test_cli import permanode
from tests.inclusion import keys, ledger


def proof_of(era: str, *, applied: bool) -> dict[str, Any]:
    each = next(each for each in ledger(era) if each.is_applied)
    return each.proof(each.applied if applied else each.by_reference)


def check(tmp_path: Path, proof: Any, *options: str) -> Result:
    file = tmp_path / "proof.json"
    file.write_text(json.dumps(proof))
    return CliRunner().invoke(cli.app, ["proof", "check", str(file), *options])


def test_a_good_proof_is_valid_and_what_was_checked_is_reported(tmp_path: Path) -> None:
    result = check(tmp_path, proof_of("stardust", applied=False), "--key-ranges", ",".join(keys("stardust")))
    each = next(each for each in ledger("stardust") if each.is_applied)
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "milestone   1 (Stardust), 2022-09-30T16:00:10+00:00",
        f"block       {each.message_id} is the leaf",
        "path        4 steps to the root of the messages that the milestone referenced",
        "signatures  2 of the coordinator",
        "valid: the milestone referenced the block",
    ]


@pytest.mark.parametrize(("era", "name"), [("chrysalis", "message"), ("stardust", "block")])
def test_both_eras_are_checked_with_ranges_and_a_threshold(tmp_path: Path, era: str, name: str) -> None:
    one, other = keys(era)
    options = ["--key-ranges", f"{one}:1:50,{other}:1", "--threshold", "2"]
    result = check(tmp_path, proof_of(era, applied=True), *options)
    assert (result.exit_code, result.output.splitlines()[-1]) == (0, f"valid: the milestone applied the {name}")
    late = check(tmp_path, proof_of(era, applied=True), "--key-ranges", f"{one}:2,{other}:2")
    assert (late.exit_code, late.output.splitlines()[-1]) == (1, "invalid")
    assert "no coordinator's key of milestone 1 is" in late.output


@pytest.mark.parametrize("era", ["chrysalis", "stardust"])
def test_a_changed_proof_is_not_valid(tmp_path: Path, era: str) -> None:
    ranges = ",".join(keys(era))
    proof = proof_of(era, applied=True)
    key = "message" if era == "chrysalis" else "block"
    changes = ((key, "nonce", "7"), ("milestone", "timestamp", 7), ("proof", "l", copy.deepcopy(proof["proof"]["r"])))
    for part, field, value in changes:
        changed = proof | {part: proof[part] | {field: value}}
        result = check(tmp_path, changed, "--key-ranges", ranges)
        assert result.exit_code == 1, (part, result.output)


def test_without_keys_nothing_is_valid_as_anybody_can_sign(tmp_path: Path) -> None:
    result = check(tmp_path, proof_of("stardust", applied=True))
    assert result.exit_code == 1
    *_, signatures, verdict = result.output.splitlines()
    assert signatures == ("signatures  2; signers unknown: pass --key-ranges, or select a network with --network")
    assert verdict == "signers unknown; all else is right: the milestone applied the block"
    wrong = proof_of("stardust", applied=True)
    wrong["block"]["nonce"] = "7"
    result = check(tmp_path, wrong)
    assert (result.exit_code, result.output.splitlines()[-1]) == (1, "invalid")


def test_the_selected_network_lends_its_keys(tmp_path: Path) -> None:
    named = ", ".join(f'"{each}"' for each in keys("stardust"))
    (tmp_path / "permanode.toml").write_text(f'[networks.tst]\nurl = "sqlite:///x"\ncoordinator_keys = [{named}]\n')
    (tmp_path / "proof.json").write_text(json.dumps(proof_of("stardust", applied=True)))
    done = permanode("proof", "check", "proof.json", cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "valid: the milestone applied the block")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "proof.json: not JSON: "),
        ("[" * 9999, "proof.json: not JSON: "),
        ("{}", "proof.json: not a proof of inclusion: milestone: expected a value, found none"),
        ('{"milestone": {"type": 7}}', "proof.json: not a proof of inclusion: milestone.parents: "),
    ],
)
def test_a_file_that_holds_no_proof_is_named_with_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "proof.json").write_text(text)
    done = permanode("proof", "check", "proof.json", "--key-ranges", "ab" * 32, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"permanode: {message}")


@pytest.mark.parametrize("options", [["--key-ranges", "abc"], ["--key-ranges", "ab" * 32, "--threshold", "2"]])
def test_key_ranges_that_are_none_are_a_usage_error(tmp_path: Path, options: list[str]) -> None:
    result = check(tmp_path, {}, *options)
    assert result.exit_code == 2
    assert "--key-ranges" in result.output
