import { copyOnClick } from './script/copy.ts';
import { keepLive } from './script/live.ts';
import {
  checkAll,
  filterChoices,
  offerOwnZone,
  showLocalTime,
  tickTimes,
} from './script/own-zone.ts';
import { listenToKeys, openPalette } from './script/palette.ts';
import { awaitChanges, sendForms, stayOnForms } from './script/stay-on-forms.ts';

// Convenience only: every page works fully without it.
keepLive();
openPalette();
listenToKeys();
copyOnClick();
offerOwnZone();
showLocalTime();
tickTimes();
checkAll();
filterChoices();
stayOnForms();
awaitChanges();
sendForms();
