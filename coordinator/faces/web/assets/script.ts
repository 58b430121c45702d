import { copyOnClick } from './script/asset-copy.ts';
import { keepLive } from './script/asset-live.ts';
import { checkAll, offerOwnZone, tellOwnTime, tickTimes } from './script/asset-own-zone.ts';
import { openPalette } from './script/asset-palette.ts';
import { listenToKeys } from './script/asset-pressed-keys.ts';
import { sendForms, stayOnForms } from './script/asset-stay-on-forms.ts';

// Comfort only: every page does all that it does without any of this.
keepLive();
openPalette();
listenToKeys();
copyOnClick();
offerOwnZone();
tellOwnTime();
tickTimes();
checkAll();
stayOnForms();
sendForms();
