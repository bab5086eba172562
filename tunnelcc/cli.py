# SPDX-License-Identifier: GPL-2.0-only
"""The command ``tunnelcc`` with one subcommand for each task.

Results go to standard output; progress and errors go to standard error. Exit codes: 0 success, 1
failure, 2 wrong input, 130 interrupted.
"""

from __future__ import annotations

import gc
import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tunnelcc.commands import complete
from tunnelcc.commands.common import (
    EXPERIMENT_OPTIONS,
    again_option,
    experiment_options,
    jobs_option,
    json_option,
    seeds_option,
    set_option,
    store_option,
    trust_option,
)
from tunnelcc.errors import MISSING, ConfigError, Problem, TunnelccError, nearest, unknown_name

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

_PATH = click.Path(path_type=Path)
_json_option = click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
_flow_option = click.option(
    "--flow", "groups", multiple=True, metavar="KEY=VALUE,…",
    help="Add a flow with these keys (cc, count, rtt, tunnel, …) to those of the scenario; without "
        "a scenario, in place of the default flow. Repeatable.",
)  # fmt: skip
_metrics_option = click.option(
    "--metric", "metrics", multiple=True, metavar="METRIC", shell_complete=complete.metrics,
    help="Also print a metric of `tunnelcc show metrics`, or your own, such as "
    "my_metrics:first_byte. Repeatable.",
)  # fmt: skip


def _difference_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option(
            "--most-seeds", type=click.IntRange(2, 100_000), default=200, show_default=True,
            help="Seeds of a condition that --precision does not pass.",
        ),
        click.option(
            "--precision", metavar="PERCENT",
            help="Run more seeds until each difference is known to so much of the reference, such "
                "as 2%. --seeds is the number to begin with.",
        ),
        click.option(
            "--to", metavar="VALUE,…",
            help="What differences are to, such as none, or none,cubic. [default: the first "
                "value of the first axis of names]",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


#: Commands of uses → where they are. They are imported when they are called, or for the help.
_OF_APPS = {
    "advise": "advice.commands:advise",
    "calibrate-host": "calibrate.commands:calibrate_host",
    "fit": "fit.commands:fit",
    "identify": "identify.commands:command",
    "papers": "papers.commands:papers",
    "reproduce": "papers.commands:command",
    "search": "searches.commands:search",
    "sensitivity": "searches.commands:sensitivity",
}


class _Commands(click.Group):
    """Subcommands. An unknown one is an error with the nearest name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None:
            raise unknown_name("command", args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)


class _AllCommands(_Commands):
    """The commands, those of uses, and those of other packages: entry points of PLUGINS."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*self.commands, *_OF_APPS, *_plugins().names})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        if cmd_name in _OF_APPS:
            module, _, name = _OF_APPS[cmd_name].partition(":")
            command: click.Command = getattr(import_module(f"tunnelcc.apps.{module}"), name)
            return command
        found = _plugins().select(name=cmd_name)
        return next(map(_loaded, found), None)


#: The group of entry points of a package that adds commands, each a click.Command.
PLUGINS = "tunnelcc.commands"


def _plugins() -> EntryPoints:
    from importlib.metadata import entry_points  # most commands need none

    return entry_points(group=PLUGINS)


def _loaded(plugin: EntryPoint) -> click.Command:
    """Return the command of another package; if it is of no use, one that says why."""
    try:
        command = plugin.load()
        if isinstance(command, click.Command):
            return command
        why = "it is no click.Command"
    except Exception as error:  # whatever that package does
        why = f"{type(error).__name__}: {error}"
    told = f"the command {plugin.name} of {plugin.value} cannot be used: {why}"

    def fail() -> None:
        raise TunnelccError(told)

    lenient = {"ignore_unknown_options": True, "allow_extra_args": True}
    return click.Command(plugin.name, callback=fail, help=told, context_settings=lenient)


def _print_version(ctx: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    if is_wanted and not ctx.resilient_parsing:
        from tunnelcc.commands import doctor

        click.echo(doctor.version())
        ctx.exit()


@click.group(cls=_AllCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version,
    help="Show the versions of tunnelcc and its models, and exit.",
)  # fmt: skip
def cli() -> None:
    """Simulate congestion control across tunnels, on ns-3.

    Start with `tunnelcc run`, then `tunnelcc list` and `tunnelcc show experiment`.
    """


@cli.command()
@click.argument("scenario", required=False, type=_PATH)
@experiment_options
@set_option
@_flow_option
@click.option("--plot", type=_PATH, help="Save a figure (.png, .svg or .pdf).")
@click.option(
    "--output", "-o", type=_PATH,
    help="Save the series: .nc, .csv, .flent.gz (flent) or .json (iperf3).",
)  # fmt: skip
@click.option(
    "--measured", type=_PATH, metavar="FILE",
    help="A measurement to compare with: iperf3 JSON, a log of `ss -ti`, a capture or a flent "
        "file. Without options of a path, it is what the file tells at once. --plot draws both.",
)  # fmt: skip
@click.option(
    "--capture", type=_PATH, metavar="FILE",
    help="Write the packets to a pcapng file, which Wireshark opens. The results stay the same.",
)  # fmt: skip
@click.option(
    "--at", "places", multiple=True, metavar="LINK|HOST",
    help="Where to capture. Repeatable. [default: the bottleneck]",
)  # fmt: skip
@click.option(
    "--snap", metavar="headers|full|BYTES",
    help="How much of each packet the capture keeps. [default: headers]",
)  # fmt: skip
@click.option(
    "--capture-limit", metavar="SIZE", help="Most bytes of a capture or log. [default: 1GiB]"
)
@click.option(
    "--qlog", type=_PATH, metavar="DIRECTORY",
    help="Write logs of TCP and QUIC connections, which qvis opens.",
)  # fmt: skip
@click.option(
    "--harm",
    is_flag=True,
    help="Also run each flow alone, and the flows outside each tunnel without it. Print how "
    "much goodput they take from each other.",
)
@_metrics_option
@_json_option
@trust_option
@click.option(
    "--write-spec",
    type=_PATH,
    metavar="FILE",
    help="Do not simulate. Write the input of the models, for scratch/run-spec.cc.",
)
@click.option(
    "--write-tunnel",
    type=_PATH,
    metavar="FILE",
    help="Do not simulate. Write the tunnel, for nodes of ns-3 (tunnelcc::TunnelHelper).",
)
def run(
    scenario: Path | None,
    settings: tuple[str, ...],
    groups: tuple[str, ...],
    plot: Path | None,
    output: Path | None,
    measured: Path | None,
    capture: Path | None,
    places: tuple[str, ...],
    snap: str | None,
    capture_limit: str | None,
    qlog: Path | None,
    harm: bool,
    metrics: tuple[str, ...],
    as_json: bool,
    write_spec: Path | None,
    write_tunnel: Path | None,
    **options: str | None,
) -> None:
    """Simulate one experiment.

    The options change the SCENARIO file. Without a file they change the defaults.

    --cc bbr,cubic runs one flow of each; with --flows 4, four of each.
    """
    from tunnelcc.commands.options import experiment_of, tell_changes
    from tunnelcc.report import tables
    from tunnelcc.running.harm import Harm

    other, otherwise = None, None
    if measured is not None:
        from tunnelcc.formats.read import read

        other = read(measured)
        if not other.streams:
            raise ConfigError(Problem("--measured", str(measured), "a file with a flow"))
        if any(it.ahead > 0 for it in other.streams):
            told = f"{measured} is not a capture at the sender: its RTTs and windows are left out"
            click.echo(told, err=True)
        if scenario is None and not any(options[it] for it in ("rate", "rtt", "loss", "buffer")):
            from tunnelcc.apps.fit.fit import direct

            otherwise = direct(other, options["cc"]).table
            told = f"the path is what {measured} tells at once; `tunnelcc fit` searches for it"
            click.echo(told, err=True)
    experiment = experiment_of(scenario, options, groups, settings, otherwise)
    if scenario is not None:
        tell_changes(scenario, [experiment])
    if write_spec is not None:
        from tunnelcc.output import files
        from tunnelcc.specification import experiment_spec, spec_text

        files.check_file("--write-spec", write_spec)
        files.write_text("--write-spec", write_spec, spec_text(experiment_spec(experiment)) + "\n")
        return
    if write_tunnel is not None:
        from tunnelcc.output import files
        from tunnelcc.specification import spec_text
        from tunnelcc.specification.node_tunnel import node_tunnel_spec

        files.check_file("--write-tunnel", write_tunnel)
        text = spec_text(node_tunnel_spec(experiment)) + "\n"
        files.write_text("--write-tunnel", write_tunnel, text)
        return
    if plot is not None:
        from tunnelcc.plots import check_file

        check_file(plot, "--plot")
    if output is not None:
        from tunnelcc.commands import run_files

        run_files.check(output)
    from tunnelcc.commands.capture import capture_of

    captured = capture_of(capture, places, snap, capture_limit, qlog)
    runs = Harm(experiment, capture=captured, metrics=metrics)
    result = runs.result
    if captured is not None:
        click.echo(captured.text(), err=True)
    if output is not None:
        run_files.write(result, output)
    if plot is not None:
        from tunnelcc.plots import plot_beside, plot_run

        plot_run(result, plot) if other is None else plot_beside(result, other, plot)
    for written in filter(None, (output, plot)):
        click.echo(written, err=True)
    from tunnelcc.running.confirm import confirm, runs_own_code

    limits = [] if runs_own_code(result.experiment) else confirm(result)
    if as_json:
        from tunnelcc.output import records

        found = runs.to_dict() if harm else result.to_dict()
        found["limits"] = [records.plain(row) for it in limits for row in it.records()]
        click.echo(json.dumps(found, indent=2, allow_nan=False))
    else:
        tables.print_result(result, metrics, limits)
        if other is not None:
            tables.print_measured(result, other)
        if harm:
            tables.print_harm(runs.dataset)
    if captured is not None and captured.failed:
        raise TunnelccError(captured.failed)


@cli.command()
@click.argument("scenario", required=False, type=_PATH)
@experiment_options
@set_option
@_flow_option
@jobs_option
@json_option
@trust_option
def explain(
    scenario: Path | None,
    settings: tuple[str, ...],
    groups: tuple[str, ...],
    jobs: int | None,
    **options: str | None,
) -> None:
    """Tell what limits the flows of one experiment: every key that matters, by what it is worth.

    Each key is relaxed alone, to twice its value or to nothing, in a run with the same seed. A key
    that raises the goodput is a limit. Of datagrams loss, delay or MOS count instead, and of flows
    that end the time until then.
    """
    from tunnelcc.commands import explain as command
    from tunnelcc.commands.options import experiment_of, tell_changes

    experiment = experiment_of(scenario, options, groups, settings)
    if scenario is not None:
        tell_changes(scenario, [experiment])
    command.explain(experiment, jobs)


@cli.command()
@click.argument("scenario", required=False, type=_PATH)
@experiment_options
@set_option
@seeds_option
@jobs_option
@store_option
@trust_option
@click.option("--name", help="Name of the results in the store (default: one for each comparison).")
@again_option
@click.option(
    "--metric", default="goodput", show_default=True, shell_complete=complete.metrics,
    help="Metric of the figures and differences: a name, or module:function for one of your own.",
)  # fmt: skip
@_difference_options
@click.option(
    "--plot",
    type=_PATH,
    default="compare.png",
    show_default=True,
    help="Save the bar chart (.png, .svg or .pdf).",
)
@click.option("--output", "-o", type=_PATH, help="Save the results (.nc, .csv or .parquet).")
@json_option
def compare(scenario: Path | None, settings: tuple[str, ...], **options: Any) -> None:
    """Compare tunnels or congestion controls.

    Give --tunnel, --cc or --carrier-cc several values (a,b,c), and other options, too, if you like.
    The command simulates all combinations with several seeds. It prints a table and the differences
    between runs with the same seeds. It draws a bar chart with the least and the most of the seeds,
    and the differences. Exits with 1 if a run fails.
    """
    from tunnelcc.commands.compare import compare as run_all

    if not run_all(scenario, settings, **options):
        sys.exit(1)


@cli.command()
@click.argument("scenario", required=False, type=_PATH)
@click.option(
    "--axis", "axes", multiple=True, metavar="KEY=VALUES",
    help="A key and its values, such as path.loss=0,0.1%,1% or "
        "'path.rtt={from=\"1ms\", to=\"300ms\", steps=12, scale=\"log\"}'. Repeatable.",
)  # fmt: skip
@click.option("--until", metavar="PRECISION", help=EXPERIMENT_OPTIONS["until"])
@set_option
@seeds_option
@jobs_option
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Address of a Dask scheduler that runs the simulations (tcp://host:8786).",
)
@click.option(
    "--part", metavar="N/PARTS",
    help="Run one part of the sweep, such as 3/20, without a table: a task of a job array.",
)  # fmt: skip
@store_option
@trust_option
@click.option("--name", help="Name of the results in the store (default: the scenario's name).")
@click.option(
    "--timeout", type=click.FloatRange(0, min_open=True), help="Time limit of one run in seconds."
)
@_metrics_option
@_difference_options
@click.option(
    "--confirm", type=click.IntRange(0, 10_000), default=0, metavar="POINTS",
    help="Confirm by more runs what limits so many points, evenly spread. [default: 0, what "
        "counters tell]",
)  # fmt: skip
@click.option(
    "--series", is_flag=True,
    help="Keep the series over time of any number of runs. [default: of at most 1,000 runs]",
)  # fmt: skip
@click.option("--output", "-o", type=_PATH, help="Save the results (.nc, .csv or .parquet).")
@click.option("--yes", is_flag=True, help="Start any number of runs without a question.")
@again_option
@click.option(
    "--dry-run", is_flag=True,
    help="Run one run at most. Tell how many there are, how long they take, and which conditions "
        "are impossible.",
)  # fmt: skip
@json_option
def sweep(
    scenario: Path | None,
    axes: tuple[str, ...],
    settings: tuple[str, ...],
    until: str | None,
    **options: Any,
) -> None:
    """Simulate all combinations of several values.

    The axes come from the table [sweep] of the SCENARIO and from --axis. Each combination runs with
    several seeds. Finished runs are kept: repeat an interrupted command to continue. Exits with 1
    if a run fails.
    """
    from tunnelcc.commands import sweep as command

    if until is not None:
        settings = (*settings, f"until={until}")
    if not command.sweep(scenario, axes, settings, **options):
        sys.exit(1)


@cli.command("measure")
@click.argument("scenario", required=False, type=_PATH)
@experiment_options
@set_option
@click.option(
    "--seeds",
    default="1",
    show_default=True,
    help="Number of runs of both, with other losses and start times each, whose seeds begin with "
    "the scenario's, or the seeds (1,2,7).",
)
@click.option("--plot", type=_PATH, help="Save a figure of both (.png, .svg or .pdf).")
@click.option("--output", "-o", type=_PATH, help="Save the samples of all sockets (.csv).")
@click.option(
    "--kernel", type=click.Choice(["host", "virtual"]),
    help="host: this machine's kernel, in real time. virtual: a Linux that runs as a process of "
    "any user, with a clock of its own (tunnelcc-linux). [default: host; virtual where you have "
    "neither root nor namespaces for users]",
)  # fmt: skip
@click.option(
    "--link", type=click.Choice(["models", "router"]), default="models", show_default=True,
    help="With --kernel virtual: the simulation's own links, or routers with netem and the queue "
    "disciplines of tc, which share nothing with the models.",
)  # fmt: skip
@click.option(
    "--keep", type=_PATH, metavar="FOLDER",
    help="With --kernel virtual: keep the files of iperf3, ping and ss, and captures.",
)  # fmt: skip
@trust_option
def measure_(
    scenario: Path | None,
    settings: tuple[str, ...],
    seeds: str,
    plot: Path | None,
    output: Path | None,
    kernel: str | None,
    link: str,
    keep: Path | None,
    **options: str | None,
) -> None:
    """Run an experiment with a real Linux, and beside it simulated.

    The flows use this machine's kernel, and the real tunnel program if it is installed (WireGuard,
    GOST, kcptun), over an emulated link. All is in namespaces of its own, which end with the
    command. Needs root or user namespaces, iproute2 and a C++ compiler.

    --kernel virtual needs none of these, but iproute2 and iperf3, and a quiet machine neither: it
    runs the flows in a Linux of its own, in virtual time. What computes there takes no time.
    """
    from tunnelcc.commands.measure import measure
    from tunnelcc.commands.options import experiment_of

    experiment = experiment_of(scenario, options, (), settings)
    measure(experiment, seeds, plot, output, kernel, link, keep)


@cli.command("report")
@click.argument("paths", metavar="SCENARIO|RESULTS...", nargs=-1, required=True, type=_PATH)
@click.option("--question", default="", help="Heading of the page. [default: the title]")
@seeds_option
@jobs_option
@store_option
@trust_option
@again_option
@_metrics_option
@click.option(
    "--output", "-o", type=_PATH, default="report", show_default=True, help="Directory to write to."
)
def report_(
    paths: tuple[Path, ...],
    question: str,
    seeds: str | None,
    jobs: int | None,
    store: Path,
    again: bool,
    metrics: tuple[str, ...],
    output: Path,
) -> None:
    """Write a page of results as papers have: table, figures, limits, versions, commands.

    SCENARIO is a .toml file, whose sweep (or one experiment) is run; RESULTS is STORE/NAME. Several
    have one table. Beside the page are the table for LaTeX and as CSV, the figures as
    PDF, and BibTeX of what the results stand on.
    """
    from tunnelcc.commands.report import report

    report(paths, question, seeds, jobs, store, metrics, output, again=again)


@cli.group(cls=_Commands)
def store() -> None:
    """List, check, export and delete finished runs."""


_store_option = click.option("--store", "directory", type=_PATH, default="runs", show_default=True)


@store.command("ls")
@click.argument("name", required=False, shell_complete=complete.sweeps)
@_store_option
@json_option
def store_ls(name: str | None, directory: Path) -> None:
    """List the sweeps, or the runs of the sweep NAME."""
    from tunnelcc.commands import store as command

    command.list_sweeps(directory) if name is None else command.list_runs(directory, name)


@store.command("show")
@click.argument("name", metavar="RUN|SWEEP", shell_complete=complete.sweeps)
@_store_option
def store_show(name: str, directory: Path) -> None:
    """Show a run with the command that repeats it, or a sweep.

    A run is named by its id or the start of its id.
    """
    from tunnelcc.commands import store as command

    command.show(directory, name)


@store.command("rm")
@click.argument(
    "names", metavar="RUN|SWEEP...", nargs=-1, required=True, shell_complete=complete.sweeps
)
@_store_option
def store_rm(names: tuple[str, ...], directory: Path) -> None:
    """Delete runs, or sweeps.

    A sweep is deleted with its runs, except runs that belong to other sweeps.
    """
    from tunnelcc.commands import store as command

    command.remove(directory, names)


@store.command("prune")
@click.option("--all", "every", is_flag=True, help="Also those of these models.")
@click.option("--dry-run", is_flag=True, help="Tell how many there are, and delete none.")
@_store_option
def store_prune(every: bool, dry_run: bool, directory: Path) -> None:
    """Delete runs of other models that no sweep has any more.

    Nothing finds them. Searches and `tc.run_stored` have runs of no sweep, too, and find those that
    the installed models made; --all deletes them.
    """
    from tunnelcc.commands import store as command

    command.prune(directory, every=every, dry_run=dry_run)


@store.command("merge")
@click.argument("others", metavar="STORE...", nargs=-1, required=True, type=_PATH)
@_store_option
def store_merge(others: tuple[Path, ...], directory: Path) -> None:
    """Copy runs and sweeps of other stores, such as those of other machines, to one.

    The others stay as they are. Two different sweeps of one name are an error, and then nothing is
    copied.
    """
    from tunnelcc.commands import store as command

    command.merge(directory, others)


@store.command("verify")
@click.option("--delete", is_flag=True, help="Delete damaged files. A sweep runs them again.")
@_store_option
def store_verify(delete: bool, directory: Path) -> None:
    """Compare every file with its checksum.

    Exits with 1 if a file is damaged.
    """
    from tunnelcc.commands import store as command

    if not command.verify(directory, delete=delete):
        sys.exit(1)


@store.command("export")
@click.argument("name", metavar="RUN|SWEEP", shell_complete=complete.sweeps)
@click.argument("file", type=_PATH)
@click.option("--series", is_flag=True, help="For a sweep: include the series over time (.nc).")
@_store_option
def store_export(name: str, file: Path, series: bool, directory: Path) -> None:
    """Save a sweep's results (.nc, .csv, .parquet) or a run's series (.nc)."""
    from tunnelcc.commands import store as command

    command.export(directory, name, file, series=series)


@cli.command()
@click.argument("results", type=_PATH, shell_complete=complete.results)
@click.option("--x", help="Axis for the x-axis, such as path.loss (scatter: a metric).")
@click.option(
    "--y",
    help="Metric for the y-axis, or module:function for one of your own; default: goodput "
    "(map: an axis).",
)
@click.option(
    "--by", help="Axis with one line for each value; for metrics of flows also cc or flow."
)
@click.option("--facet", help="Axis with one panel for each value.")
@click.option(
    "--at", multiple=True, metavar="KEY=VALUE", help="Fix another axis at one value. Repeatable."
)
@click.option(
    "--kind",
    default="curves",
    show_default=True,
    help="curves, differences, scatter, map, pairs (algorithms against each other) or series.",
)
@click.option("--to", metavar="VALUE,…", help="What differences are to, as in `tunnelcc compare`.")
@click.option("--value", help="Metric of a map (default: goodput).")
@click.option(
    "--baseline",
    type=_PATH,
    help="Results of single flows; they add the metric flow_harm.",
)
@click.option("--theory/--no-theory", default=True, help="Draw lines for capacity and theory.")
@click.option(
    "--style", default="screen", show_default=True, metavar="screen|paper|slide",
    help="paper: 3.5 inches wide if there is one panel, letters of 8 points, 300 dpi, no title and "
        "no notes. slide: 10 x 5.6 inches, letters of 16 points, 300 dpi, no notes.",
)  # fmt: skip
@click.option("--size", metavar="WIDTHxHEIGHT", help="Size of the figure in inches, as 3.5x2.4.")
@click.option("--font", type=float, metavar="POINTS", help="Size of letters.")
@click.option("--title/--no-title", default=None, help="With or without a title.")
@click.option("--notes/--no-notes", default=None, help="With or without small lines below.")
@click.option("--standard", is_flag=True, help="Draw every figure that the axes allow.")
@click.option(
    "--output",
    "-o",
    type=_PATH,
    help="File to write; with --standard a directory.",
)
@click.option(
    "--format",
    "suffix",
    default="png",
    show_default=True,
    help="File format with --standard: png, svg or pdf.",
)
def plot(
    results: Path,
    at: tuple[str, ...],
    standard: bool,
    baseline: Path | None,
    output: Path | None,
    suffix: str,
    style: str,
    size: str | None,
    font: float | None,
    title: bool | None,
    notes: bool | None,
    **options: Any,
) -> None:
    """Draw the results of a sweep.

    RESULTS is STORE/NAME, a store with one sweep, or a .nc file. Lines are means over the seeds,
    and bands reach from the least to the most of them.
    """
    from tunnelcc.commands.plot import Options, draw
    from tunnelcc.plots.form import form_of

    files = draw(
        results, Options(at=at, **options), all_of_them=standard, baseline=baseline, output=output,
        suffix=suffix, form=form_of(style, size, font, title, notes),
    )  # fmt: skip
    for file in files:
        click.echo(file)


@cli.command("list")
@click.argument(
    "part", metavar="[tunnels|programs|cc|profiles|payloads|traffic]", required=False,
    shell_complete=complete.choices("tunnels", "programs", "cc", "profiles", "payloads", "traffic"),
)  # fmt: skip
@json_option
def list_(part: str | None) -> None:
    """List tunnels, programs, algorithms, profiles, payloads and traffic, or one of these.

    These are the names that experiments accept. A program, such as frp or trojan, is the tunnel
    that stands for it with keys that differ: `show tunnel frp` has them.
    """
    from tunnelcc.report import catalogue

    catalogue.print_list(part)


@cli.command()
@click.argument(
    "what", metavar="experiment|metrics|tunnel|cc|profile|payload|schema",
    shell_complete=complete.choices(
        "experiment", "metrics", "tunnel", "cc", "profile", "payload", "schema"
    ),
)  # fmt: skip
@click.argument("name", metavar="[NAME|WORD|FILE]", required=False, shell_complete=complete.shown)
@click.option("--mode", help="Mode of a tunnel that has modes (default: the entry's).")
@click.option(
    "--only", help="Of an experiment's FILE: run, links, hosts, tunnels, flows or traffic."
)
@json_option
def show(what: str, name: str | None, mode: str | None, only: str | None) -> None:
    """Show keys, metrics, one experiment, or one catalogue entry.

    `show experiment` lists all keys, and `show metrics` lists all metrics; a word selects those
    that have it (path, path.loss; delay). `show experiment FILE` shows the network of a .toml file:
    links, hosts, tunnels and flows, with the origin of each number. The others need a name of
    `tunnelcc list`.
    """
    from tunnelcc.report import catalogue

    if what == "schema":
        from tunnelcc.output.records import schema

        click.echo(schema())
        return
    is_file = what == "experiment" and name is not None and name.endswith(".toml")
    if only is not None and not is_file:
        expected = "no --only, because only `show experiment FILE` has sections"
        raise ConfigError(Problem("--only", only, expected))
    if is_file:
        from tunnelcc import scenario
        from tunnelcc.report.network import print_network

        print_network(scenario.load_base(Path(name or "")), only)
        return

    named: dict[str, Callable[[str], None]] = {
        "tunnel": partial(catalogue.print_tunnel, mode=mode),
        "cc": catalogue.print_congestion_control,
        "profile": catalogue.print_profile,
        "payload": catalogue.print_payload,
    }
    lists = {"experiment": catalogue.print_experiment, "metrics": catalogue.print_metrics}
    if mode is not None and what != "tunnel":
        raise ConfigError(
            Problem("--mode", mode, "no --mode, because only `show tunnel` has modes")
        )
    if what in lists:
        lists[what](name)
    elif what not in named:
        raise unknown_name("show", what, (*lists, *named))
    elif name is None:
        raise ConfigError(Problem(f"show {what}", MISSING, "a name; `tunnelcc list` shows them"))
    else:
        named[what](name)


@cli.group(cls=_Commands)
def new() -> None:
    """Write files to begin with."""


@new.command("cc")
@click.argument("name")
@click.option("--python", is_flag=True, help="Write a class in Python, not in C++.")
@click.option("--output", type=_PATH, default=".", help="Folder of the files. [default: this one]")
def new_cc(name: str, python: bool, output: Path) -> None:
    """Write a congestion control, a test and a scenario, which run as they are.

    NAME is the name of the files, such as my_cc.
    """
    from tunnelcc.commands import new as files

    click.echo(files.congestion_control(name, output, python=python))


@cli.command()
@json_option
def doctor() -> None:
    """Check the installation.

    Checks what tunnelcc needs, and runs a simulation.
    """
    from tunnelcc.commands.doctor import print_checks

    if not print_checks():
        sys.exit(1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit."""
    # numpy's threads would have nothing to do, but take a core when they start; and to look for
    # pydantic's plugins takes as long as a tenth of importing all keys.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    gc.set_threshold(200_000)  # What is imported stays: the collector would look at it in vain.
    is_silent = _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal may have no signs such as × or –
    try:
        if is_silent:
            raise TunnelccError("standard output is closed; `>/dev/null` discards it")
        cli.main(args=arguments, prog_name="tunnelcc", standalone_mode=False)
        sys.stdout.flush()
    except TunnelccError as error:
        click.echo(f"tunnelcc: {error}", err=True)
        sys.exit(error.exit_code)
    except click.NoSuchOption as error:
        command = error.ctx.command if error.ctx is not None else cli
        options = [name for option in command.params for name in option.opts if name[:2] == "--"]
        from tunnelcc.commands.options import KEYS

        hint = nearest(error.option_name, options)
        key = KEYS.get(error.option_name.lstrip("-").replace("-", "_"), "")
        if key and "--set" in options:
            hint = f"did you mean '--set {key}=VALUE'?"
        text = f"no such option {error.option_name!r}" + (f" ({hint})" if hint else "")
        click.echo(f"tunnelcc: {text}", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        text = error.format_message()
        is_help = text.startswith("Usage:")  # of a command without arguments
        click.echo(text if is_help else f"tunnelcc: {text}", err=True)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("tunnelcc: interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # The reader (head, less) has seen enough.
        _drop_output()
        sys.exit(1)
    except OSError as error:
        # What writes a file names it. What is left is mostly what commands print.
        where = error.filename or "standard output or a temporary file"
        click.echo(f"tunnelcc: {where}: {error.strerror or error}", err=True)
        _drop_output()
        sys.exit(1)


def _open_closed_streams() -> bool:
    """Give streams that the shell has closed (``>&-``) a place. Return whether there is no output.

    Else the first file that is opened would take the place, and what is printed.
    """
    is_silent = sys.stdout is None
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w"))
    return is_silent


def _drop_output() -> None:
    """Discard further output at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
