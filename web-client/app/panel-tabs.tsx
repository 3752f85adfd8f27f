/** Which of the three parts a narrow screen shows; a wide one shows all of them and none of this. */
import type { ReactElement } from 'react';
import { Icon } from './base/icon.tsx';
import type { IconName } from './base/icon.tsx';

export type Panel = 'sessions' | 'conversation' | 'ledger';

const tabs: readonly { readonly panel: Panel; readonly label: string; readonly icon: IconName }[] = [
  { panel: 'sessions', label: 'Sessions', icon: 'sessions' },
  { panel: 'conversation', label: 'Conversation', icon: 'conversation' },
  { panel: 'ledger', label: 'Ledger', icon: 'ledger' },
];

interface PanelTabsProps {
  readonly panel: Panel;
  readonly show: (panel: Panel) => void;
}

export const PanelTabs = ({ panel, show }: PanelTabsProps): ReactElement => (
  <nav className="panel-tabs" aria-label="Parts of the page">
    {tabs.map((tab) => (
      <button
        key={tab.panel}
        type="button"
        aria-current={tab.panel === panel ? 'true' : undefined}
        onClick={() => show(tab.panel)}
      >
        <Icon name={tab.icon} />
        {tab.label}
      </button>
    ))}
  </nav>
);
