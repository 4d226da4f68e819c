"""`benanza import --undo`: what was imported from a file counts no more."""

from collections.abc import Sequence
from pathlib import Path

from benanza.importing.known import Known
from benanza.importing.recording import digest_of
from benanza.installation.configured import configured_log
from benanza.results.import_recordings import Withdrawn
from benanza_backbone.clock import now
from benanza_backbone.errors import BenanzaError
from benanza_backbone.service.processor import as_message
from benanza_backbone.settings import Settings
from benanza_schemas.events import RecordingWithdrawn, event_id


def withdraw_recordings(files: Sequence[Path], settings: Settings) -> Withdrawn:
    """Appends that what was imported from these files is taken back.

    Of the later of an import and an undo of the same file, by their order in the log, the last
    counts: what is imported again after this counts again. What a file shares with one that was
    imported before it came in that one, and stays.

    Only the digests of the files are read. Raises `BenanzaError` if one can't be, if nothing in the
    log is from it, or if the log can't be reached; then nothing is taken back.
    """
    digests = {digest_of(file): file for file in files}
    time = now()
    measurements = profiles = witnesses = 0
    with configured_log(settings) as log:
        known = Known(log)
        withdrawn: list[RecordingWithdrawn] = []
        for digest, file in digests.items():
            taken = known.of_recordings.get(digest)
            if not taken:
                raise BenanzaError(
                    f"there is nothing in the log that was imported from {file}; name a file that "
                    "was, unchanged"
                )
            for model_id, of in taken.items():
                measurements += len(of.measurements)
                profiles += len(of.profiles)
                witnesses += len(of.keys) - len(of.profiles) if model_id else 0
                withdrawn.append(
                    RecordingWithdrawn(
                        event_id=event_id("RecordingWithdrawn", digest, model_id, time.isoformat()),
                        digest=digest,
                        withdrawn_at=time,
                        model_id=model_id,
                    )
                )
        log.append([as_message(event) for event in withdrawn])
    return Withdrawn(measurements=measurements, profiles=profiles, witnesses=witnesses)
